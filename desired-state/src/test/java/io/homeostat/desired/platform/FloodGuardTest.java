package io.homeostat.desired.platform;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.io.ByteStreams;
import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.MethodDescriptor;
import io.grpc.Server;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.GrpcSslContexts;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.ServerCalls;
import io.homeostat.controlplane.TestAuthority;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelOption;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.channel.socket.nio.NioServerDomainSocketChannel;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.ssl.JdkSslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslProvider;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.UnixDomainSocketAddress;
import java.nio.file.Path;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import javax.net.ssl.SSLServerSocket;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

class FloodGuardTest {
    private static final int PATIENCE = 120;
    private static final int LARGE = 8 << 20;
    private static final String UNREAD = "answers to HTTP/2 frames were not read";
    private static final String PIECES = "too many pieces";

    private static final MethodDescriptor<byte[], byte[]> ECHO = MethodDescriptor.<byte[], byte[]>newBuilder()
            .setType(MethodDescriptor.MethodType.UNARY)
            .setFullMethodName("test.Echo/Echo")
            .setRequestMarshaller(new Bytes())
            .setResponseMarshaller(new Bytes())
            .build();

    private final GrpcTransport transport = new GrpcTransport();

    @TempDir
    Path directory;

    static Stream<Arguments> floods() {
        return Stream.of(
                Arguments.of("PING", RawPeer.frame(RawPeer.PING, 0, 0, new byte[8]), UNREAD),
                Arguments.of("SETTINGS", RawPeer.frame(RawPeer.SETTINGS, 0, 0), UNREAD),
                Arguments.of("empty DATA", RawPeer.frame(RawPeer.DATA, 0, RawPeer.STREAM), PIECES),
                Arguments.of("DATA of a byte", RawPeer.frame(RawPeer.DATA, 0, RawPeer.STREAM, (byte) 1), PIECES));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("floods")
    void aPeerThatFloodsIsDisconnected(String what, byte[] frame, String why) throws Exception {
        Path socket = directory.resolve("socket");
        try (RawPeer peer = RawPeer.unix(socket, frame)) {
            assertDisconnects(peer, transport.unix(socket), why);
        } finally {
            transport.close();
        }
    }

    @Test
    void soIsOneOverTcp() throws Exception {
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
                RawPeer peer = RawPeer.tcp(server, RawPeer.frame(RawPeer.PING, 0, 0, new byte[8]))) {
            InetSocketAddress address = (InetSocketAddress) server.getLocalSocketAddress();
            assertDisconnects(peer, transport.tcp(address), UNREAD);
        } finally {
            transport.close();
        }
    }

    @Test
    @Tag("nightly")
    void soIsOneOverTls() throws Exception {
        TestAuthority authority = new TestAuthority("authority");
        TestAuthority.Issued issued = authority.issue("server");
        JdkSslContext context = (JdkSslContext) GrpcSslContexts.configure(
                        SslContextBuilder.forServer(issued.key(), issued.certificate()), SslProvider.JDK)
                .build();
        try (SSLServerSocket server = (SSLServerSocket) context.context()
                        .getServerSocketFactory()
                        .createServerSocket(0, 1, InetAddress.getLoopbackAddress());
                RawPeer peer = RawPeer.tcp(server, RawPeer.frame(RawPeer.PING, 0, 0, new byte[8]))) {
            assertDisconnects(
                    peer,
                    transport.tls(
                            "localhost",
                            server.getLocalPort(),
                            GrpcSslContexts.configure(SslContextBuilder.forClient(), SslProvider.JDK)
                                    .trustManager(authority.certificate())
                                    .build()),
                    UNREAD);
        } finally {
            transport.close();
        }
    }

    private static void assertDisconnects(RawPeer peer, ManagedChannelBuilder<?> to, String why) throws Exception {
        ManagedChannel channel = to.maxInboundMessageSize(Integer.MAX_VALUE).build();
        try {
            StatusRuntimeException failure = assertThrows(
                    StatusRuntimeException.class,
                    () -> ClientCalls.blockingUnaryCall(
                            channel,
                            ECHO,
                            CallOptions.DEFAULT.withDeadlineAfter(PATIENCE, TimeUnit.SECONDS),
                            new byte[0]));
            assertEquals(Status.Code.UNAVAILABLE, failure.getStatus().getCode(), failure::toString);
            assertTrue(String.valueOf(failure.getStatus().getDescription()).contains(why), failure::toString);
            peer.disconnected().get(PATIENCE, TimeUnit.SECONDS);
        } finally {
            channel.shutdownNow();
        }
    }

    @Test
    void whatIsNotReadIsBounded() {
        EmbeddedChannel connection = FloodGuard.plain(new EmbeddedChannel());
        int answers = 0;
        while (connection.isOpen() && answers < FloodGuard.PLAIN) {
            // As long as it isn't flushed, nobody has read it.
            Future<?> _ = connection.write(Unpooled.wrappedBuffer(new byte[17]));
            answers++;
        }

        assertFalse(connection.isOpen());
        assertTrue(answers > 1000 && answers < 10_000, answers + " answers were queued");
        assertThrows(Http2Exception.class, connection::checkException);
    }

    @Test
    void aLargeMessageIsNoFlood() throws Exception {
        Path socket = directory.resolve("socket");
        QuietEventLoop loop = new QuietEventLoop("echo");
        Server server = NettyServerBuilder.forAddress(UnixDomainSocketAddress.of(socket))
                .channelType(NioServerDomainSocketChannel.class)
                .bossEventLoopGroup(loop)
                .workerEventLoopGroup(loop)
                .withChildOption(ChannelOption.SO_KEEPALIVE, null)
                // There is room for all of it at once.
                .flowControlWindow(2 * LARGE)
                .maxInboundMessageSize(2 * LARGE)
                .addService(ServerServiceDefinition.builder("test.Echo")
                        .addMethod(ECHO, ServerCalls.asyncUnaryCall((question, answer) -> {
                            answer.onNext(question);
                            answer.onCompleted();
                        }))
                        .build())
                .build()
                .start();
        ManagedChannel channel =
                transport.unix(socket).maxInboundMessageSize(2 * LARGE).build();
        try {
            byte[] large = new byte[LARGE];
            assertArrayEquals(large, ClientCalls.blockingUnaryCall(channel, ECHO, CallOptions.DEFAULT, large));
        } finally {
            channel.shutdownNow();
            transport.close();
            server.shutdownNow();
            var _ = loop.shutdownGracefully(0, 0, TimeUnit.SECONDS);
        }
    }

    @Test
    void aStreamOfSmallMessagesMayLastForEver() {
        FloodGuard.Pieces pieces = new FloodGuard.Pieces();
        byte[] message = {0, 0, 0, 0, 3, 1, 2, 3};

        for (int i = 0; i < 100_000; i++) {
            // In two frames, of which the second has the beginning of the next message.
            assertTrue(pieces.add(Unpooled.wrappedBuffer(message, 0, 6), 6));
            assertTrue(pieces.add(Unpooled.wrappedBuffer(message, 6, 2), 2));
        }
    }

    @Test
    void theFramesOfOneMessageAreBounded() {
        FloodGuard.Pieces pieces = new FloodGuard.Pieces();
        assertTrue(pieces.add(Unpooled.wrappedBuffer(new byte[] {0, 0, 1, 0, 0}), 5));
        boolean allowed = true;
        int frames = 0;
        while (allowed && frames < 1 << 16) {
            allowed = pieces.add(Unpooled.wrappedBuffer(new byte[1]), 1);
            frames++;
        }

        assertFalse(allowed);
        assertTrue(frames < 40_000, frames + " frames were allowed");
    }

    @Test
    void framesOfMessagesThatNobodyWantsAreBounded() {
        FloodGuard.Pieces pieces = new FloodGuard.Pieces();
        boolean allowed = true;
        int frames = 0;
        while (allowed && frames < 1 << 16) {
            frames++;
            allowed = pieces.add(Unpooled.wrappedBuffer(new byte[5]), 5L * frames);
        }

        assertFalse(allowed);
    }

    @Test
    void aSlowReaderOfSmallMessagesIsNotDisconnected() {
        FloodGuard.Pieces pieces = new FloodGuard.Pieces();
        byte[] message = new byte[32];
        message[4] = 27;
        // As many as fit into a window of 1 MiB wait all the time.
        long window = 1 << 20;
        for (long sent = message.length; sent < 1 << 24; sent += message.length) {
            assertTrue(pieces.add(Unpooled.wrappedBuffer(message), Math.min(sent, window)));
        }
    }

    private static final class Bytes implements MethodDescriptor.Marshaller<byte[]> {
        @Override
        public InputStream stream(byte[] value) {
            return new ByteArrayInputStream(value);
        }

        @Override
        public byte[] parse(InputStream stream) {
            try {
                return ByteStreams.toByteArray(stream);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }
}
