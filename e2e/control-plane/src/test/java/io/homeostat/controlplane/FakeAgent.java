package io.homeostat.controlplane;

import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.netty.GrpcSslContexts;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.MetadataUtils;
import io.grpc.stub.StreamObserver;
import io.homeostat.proto.acs.AgentCommunicationGrpc;
import io.homeostat.proto.acs.MessageBody;
import io.homeostat.proto.acs.MessageResponse;
import io.homeostat.proto.acs.RegisterConnection;
import io.homeostat.proto.acs.StreamAgentMessagesRequest;
import io.homeostat.proto.acs.StreamAgentMessagesResponse;
import io.netty.channel.ChannelOption;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioDomainSocketChannel;
import java.net.UnixDomainSocketAddress;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** The bare agent's side of a stream: says what it is told to, and keeps what it hears. */
final class FakeAgent implements StreamObserver<StreamAgentMessagesResponse>, AutoCloseable {
    static final String RESOURCE = "projects/1/zones/z/instances/1";
    static final String CHANNEL = "compute.googleapis.com/google-guest-agent";

    private final List<StreamAgentMessagesResponse> heard = new CopyOnWriteArrayList<>();
    private final CompletableFuture<io.grpc.Status> ended = new CompletableFuture<>();
    private final ManagedChannel channel;
    private final String resource;
    private final StreamObserver<StreamAgentMessagesRequest> stream;

    FakeAgent(ManagedChannel channel, String resource, String authentication) {
        this.channel = channel;
        this.resource = resource;
        Metadata headers = new Metadata();
        put(headers, "agent-communication-resource-id", resource);
        put(headers, "agent-communication-channel-id", resource.isEmpty() ? "" : CHANNEL);
        put(headers, "authentication", authentication);
        stream = AgentCommunicationGrpc.newStub(channel)
                .withInterceptors(MetadataUtils.newAttachHeadersInterceptor(headers))
                .streamAgentMessages(this);
    }

    static FakeAgent registered(FakeControlPlane plane) {
        FakeAgent agent = new FakeAgent(channel(plane), RESOURCE, "");
        agent.register();
        return agent;
    }

    static ManagedChannel channel(FakeControlPlane plane) {
        return channel(plane, null);
    }

    /** A thread for each, which ends with the test's JVM. */
    static ManagedChannel channel(FakeControlPlane plane, @Nullable MultiThreadIoEventLoopGroup loop) {
        NettyChannelBuilder builder = NettyChannelBuilder.forAddress(
                        UnixDomainSocketAddress.of(plane.endpoint().substring("unix:".length())))
                .channelType(NioDomainSocketChannel.class, UnixDomainSocketAddress.class)
                .withOption(ChannelOption.SO_KEEPALIVE, null)
                .overrideAuthority("localhost")
                .eventLoopGroup(loop == null ? new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory()) : loop)
                .directExecutor()
                .usePlaintext();
        return builder.build();
    }

    static ManagedChannel tlsChannel(FakeControlPlane plane, TestAuthority trusted, TestAuthority.@Nullable Issued own)
            throws Exception {
        var context = GrpcSslContexts.forClient().trustManager(trusted.certificate());
        if (own != null) {
            context.keyManager(own.key(), own.certificate());
        }
        return NettyChannelBuilder.forTarget(plane.endpoint())
                .sslContext(context.build())
                .build();
    }

    void register() {
        say(StreamAgentMessagesRequest.newBuilder()
                .setMessageId(UUID.randomUUID().toString())
                .setRegisterConnection(
                        RegisterConnection.newBuilder().setChannelId(CHANNEL).setResourceId(resource))
                .build());
    }

    void acknowledge(String id) {
        say(StreamAgentMessagesRequest.newBuilder()
                .setMessageId(id)
                .setMessageResponse(MessageResponse.getDefaultInstance())
                .build());
    }

    void send(String id, MessageBody body) {
        say(StreamAgentMessagesRequest.newBuilder()
                .setMessageId(id)
                .setMessageBody(body)
                .build());
    }

    void say(StreamAgentMessagesRequest message) {
        stream.onNext(message);
    }

    List<StreamAgentMessagesResponse> heard() {
        return heard;
    }

    CompletableFuture<io.grpc.Status> ended() {
        return ended;
    }

    @Override
    public void onNext(StreamAgentMessagesResponse message) {
        heard.add(message);
    }

    @Override
    public void onError(Throwable problem) {
        ended.complete(io.grpc.Status.fromThrowable(problem));
    }

    @Override
    public void onCompleted() {
        ended.complete(io.grpc.Status.OK);
    }

    @Override
    public void close() throws InterruptedException {
        channel.shutdownNow().awaitTermination(10, TimeUnit.SECONDS);
    }

    private static void put(Metadata headers, String name, String value) {
        if (!value.isEmpty()) {
            headers.put(Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER), value);
        }
    }
}
