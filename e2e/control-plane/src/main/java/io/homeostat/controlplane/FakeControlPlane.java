package io.homeostat.controlplane;

import com.google.protobuf.ByteString;
import io.grpc.MethodDescriptor;
import io.grpc.Server;
import io.grpc.ServerServiceDefinition;
import io.grpc.netty.GrpcSslContexts;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.protobuf.ProtoUtils;
import io.homeostat.proto.acs.AgentCommunicationGrpc;
import io.homeostat.proto.acs.MessageBody;
import io.homeostat.proto.acs.StreamAgentMessagesRequest;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerDomainSocketChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.ssl.ClientAuth;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnixDomainSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The server side of google.cloud.agentcommunication.v1.AgentCommunication, well-behaved or not as its {@link #script} says, with a
 * {@link #transcript} of everything. Three threads, however many agents there are. What is {@link #send sent} is repeated over each new
 * stream until it is acknowledged, as by a control plane that loses nothing.
 */
public final class FakeControlPlane implements AutoCloseable {
    private static final int NETWORK_THREADS = 2;
    private static final Duration SHORTEST_KEEPALIVE = Duration.ofSeconds(10);
    private static final Duration ENDING = Duration.ofSeconds(10);

    private final Script script = new Script();
    private final Transcript transcript = new Transcript();
    private final Outstanding outstanding = new Outstanding(transcript);
    private final EventLoopGroup network = new MultiThreadIoEventLoopGroup(
            NETWORK_THREADS, new DefaultThreadFactory("fake-control-plane", true), NioIoHandler.newFactory());
    private final ScheduledExecutorService later =
            Executors.newSingleThreadScheduledExecutor(new DefaultThreadFactory("fake-control-plane-later", true));
    private final AgentCommunication service = new AgentCommunication(script, transcript, outstanding, later);
    private Address address;
    private @Nullable Server server;

    private FakeControlPlane(Address address) throws IOException {
        this.address = address;
        comeBack();
    }

    /** Listens on a unix socket, at most 107 bytes long. */
    public static FakeControlPlane onUnixSocket(Path socket) throws IOException {
        return new FakeControlPlane(new Address.Unix(socket));
    }

    /** Listens on loopback, and shows a certificate for {@code localhost}. */
    public static FakeControlPlane overTls(TestAuthority.Issued certificate) throws IOException {
        return new FakeControlPlane(new Address.Tls(certificate, null, 0));
    }

    /** Listens on loopback, and takes nobody without a certificate that this authority issued. */
    public static FakeControlPlane overMutualTls(TestAuthority.Issued certificate, TestAuthority clients)
            throws IOException {
        return new FakeControlPlane(new Address.Tls(certificate, clients, 0));
    }

    /** How it behaves. */
    public Script script() {
        return script;
    }

    /** What happened. */
    public Transcript transcript() {
        return transcript;
    }

    /** Its address as {@code sources.controlPlane.endpoint} says it; the same after it was away. */
    public synchronized String endpoint() {
        return address.endpoint();
    }

    /** Sends to the agent that registered last, or to the first one that does when there is none. */
    public Sent send(MessageBody body) {
        return deliver(UUID.randomUUID().toString(), null, body);
    }

    /** Sends to the agent of one resource, when it is there. */
    public Sent send(String resource, MessageBody body) {
        return deliver(UUID.randomUUID().toString(), resource, body);
    }

    /** Sends under an id that may have been used before, once that was acknowledged. */
    public Sent sendAs(String id, MessageBody body) {
        return deliver(id, null, body);
    }

    /** Sends with a {@code request_id} of its own, by which the reply is known. */
    public Sent ask(MessageBody body) {
        return send(Bodies.labelled(body, Bodies.REQUEST_ID, UUID.randomUUID().toString()));
    }

    /** The stream that registered last; empty when none is open. */
    public Optional<Connection> connection() {
        return outstanding.newest();
    }

    /** The open streams that have registered, newest first. */
    public List<Connection> connections() {
        return outstanding.registered();
    }

    /** Waits until an agent has registered, and is still there. */
    public Connection awaitConnection(Duration patience) throws InterruptedException {
        return transcript.await("an agent that registers", patience, happened -> connection());
    }

    /** Goes away: all streams break off, nobody listens. Does nothing when it is away. */
    public synchronized void goAway() throws InterruptedException {
        Server running = server;
        if (running == null) {
            return;
        }
        server = null;
        running.shutdownNow();
        if (!running.awaitTermination(ENDING.toSeconds(), TimeUnit.SECONDS)) {
            throw new IllegalStateException(
                    "the fake control plane at " + address.endpoint() + " did not end within " + ENDING);
        }
    }

    /** Listens again at the same address. Does nothing when it is there. */
    public synchronized void comeBack() throws IOException {
        if (server != null) {
            return;
        }
        NettyServerBuilder builder = address.builder();
        server = builder.bossEventLoopGroup(network)
                .workerEventLoopGroup(network)
                .directExecutor()
                .permitKeepAliveTime(SHORTEST_KEEPALIVE.toSeconds(), TimeUnit.SECONDS)
                .permitKeepAliveWithoutCalls(true)
                .addService(service())
                .build()
                .start();
        address = address.with(server.getPort());
    }

    @Override
    public void close() throws InterruptedException {
        goAway();
        later.shutdownNow();
        network.shutdownGracefully(0, 0, TimeUnit.MILLISECONDS).await(ENDING.toMillis());
    }

    private Sent deliver(String id, @Nullable String resource, MessageBody body) {
        Sent sent = Sent.of(id, body);
        outstanding.send(resource, sent);
        return sent;
    }

    private ServerServiceDefinition service() {
        return ServerServiceDefinition.builder(AgentCommunicationGrpc.SERVICE_NAME)
                .addMethod(
                        AgentCommunicationGrpc.getStreamAgentMessagesMethod().toBuilder(
                                        ProtoUtils.marshaller(StreamAgentMessagesRequest.getDefaultInstance()),
                                        new Bytes())
                                .build(),
                        service::stream)
                .addMethod(AgentCommunicationGrpc.getSendAgentMessageMethod(), service::unary)
                .build();
    }

    /** So that what is no message can be sent, too. */
    private static final class Bytes implements MethodDescriptor.Marshaller<ByteString> {
        @Override
        public InputStream stream(ByteString value) {
            return value.newInput();
        }

        @Override
        public ByteString parse(InputStream stream) {
            try {
                return ByteString.readFrom(stream);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    /** Where the control plane listens, each time it comes back. */
    private sealed interface Address {
        /** A server that will listen there. */
        NettyServerBuilder builder() throws IOException;

        /** The address with the port that was given to the server. */
        Address with(int port);

        /** As agent.yaml says it. */
        String endpoint();

        record Unix(Path socket) implements Address {
            @Override
            public NettyServerBuilder builder() throws IOException {
                Files.deleteIfExists(socket);
                return NettyServerBuilder.forAddress(UnixDomainSocketAddress.of(socket))
                        .channelType(NioServerDomainSocketChannel.class)
                        // gRPC asks for it, unix sockets don't have it, and Netty warns of that on every connection.
                        .withChildOption(ChannelOption.SO_KEEPALIVE, null);
            }

            @Override
            public Address with(int port) {
                return this;
            }

            @Override
            public String endpoint() {
                return "unix:" + socket;
            }
        }

        record Tls(
                TestAuthority.Issued certificate, @Nullable TestAuthority clients, int port) implements Address {
            @Override
            public NettyServerBuilder builder() throws IOException {
                SslContextBuilder context = GrpcSslContexts.configure(
                        SslContextBuilder.forServer(certificate.key(), certificate.certificate()));
                if (clients != null) {
                    context.trustManager(clients.certificate()).clientAuth(ClientAuth.REQUIRE);
                }
                return NettyServerBuilder.forAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), port))
                        .channelType(NioServerSocketChannel.class)
                        .sslContext(context.build());
            }

            @Override
            public Address with(int port) {
                return new Tls(certificate, clients, port);
            }

            @Override
            public String endpoint() {
                return "localhost:" + port;
            }
        }
    }
}
