package io.homeostat.desired.platform;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.io.ByteStreams;
import com.google.common.util.concurrent.Futures;
import com.google.common.util.concurrent.ListenableFuture;
import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Server;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
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
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.stream.Stream;
import javax.net.ssl.SSLServerSocket;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

class FloodGuardTest {
    private static final int PATIENCE = 120;
    private static final int PRIORITY = 2;
    private static final int WINDOW_UPDATE = 8;
    private static final int ACK = 1;
    private static final int LARGE = 8 << 20;
    /** It depends on what the kernel holds whether the answers to a flood of PING are too many first, or the PINGs. */
    private static final String CLOSED = "closed on this side";

    private static final String NO_MESSAGES = "frames of HTTP/2 without messages";

    private static final MethodDescriptor<byte[], byte[]> ECHO = MethodDescriptor.<byte[], byte[]>newBuilder()
            .setType(MethodDescriptor.MethodType.UNARY)
            .setFullMethodName("test.Echo/Echo")
            .setRequestMarshaller(new Bytes())
            .setResponseMarshaller(new Bytes())
            .build();

    /** It logs each answer to a PING that was not sent, which takes longer than all else here. */
    private static final Logger GRPC = Logger.getLogger("io.grpc.netty.NettyClientHandler");

    private final GrpcTransport transport = new GrpcTransport();

    @TempDir
    Path directory;

    @BeforeAll
    static void setUp() {
        GRPC.setLevel(Level.OFF);
    }

    @AfterAll
    static void tearDown() {
        GRPC.setLevel(null);
    }

    static Stream<Arguments> floods() {
        return Stream.of(
                Arguments.of("PING", RawPeer.frame(RawPeer.PING, 0, 0, new byte[8]), CLOSED),
                Arguments.of("SETTINGS", RawPeer.frame(RawPeer.SETTINGS, 0, 0), CLOSED),
                Arguments.of("answers to PING", RawPeer.frame(RawPeer.PING, ACK, 0, new byte[8]), NO_MESSAGES),
                Arguments.of("frames of an unknown type", RawPeer.frame(0x77, 0, 0), NO_MESSAGES),
                Arguments.of("PRIORITY", RawPeer.frame(PRIORITY, 0, 9, new byte[5]), NO_MESSAGES),
                Arguments.of("WINDOW_UPDATE", RawPeer.frame(WINDOW_UPDATE, 0, 0, new byte[] {0, 0, 0, 1}), NO_MESSAGES),
                Arguments.of("empty DATA", RawPeer.frame(RawPeer.DATA, 0, RawPeer.STREAM), NO_MESSAGES),
                Arguments.of(
                        "small DATA",
                        RawPeer.frame(RawPeer.DATA, 0, RawPeer.STREAM, new byte[9]),
                        KeptMessages.TOO_MUCH));
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
            assertDisconnects(peer, transport.tcp(address), CLOSED);
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
                    CLOSED);
        } finally {
            transport.close();
        }
    }

    @Test
    void whoHasFloodedIsNotConnectedToForAMinuteWhateverTheyDoUnlessAnotherProcessIsLaunched() throws Exception {
        Path socket = directory.resolve("socket");
        try (RawPeer peer = RawPeer.unix(socket, RawPeer.frame(0x77, 0, 0))) {
            assertDisconnects(peer, transport.unix(socket), NO_MESSAGES);
            // This one accepts no second connection, so that one would be silent until the deadline.
            StatusRuntimeException refused =
                    assertThrows(StatusRuntimeException.class, () -> echo(transport.unix(socket), new byte[0]));
            assertEquals(Status.Code.UNAVAILABLE, refused.getStatus().getCode(), refused::toString);
            assertTrue(String.valueOf(refused.getStatus().getDescription()).contains(CLOSED), refused::toString);

            Files.delete(socket);
            try (EchoServer _ = new EchoServer(socket)) {
                StatusRuntimeException next =
                        assertThrows(StatusRuntimeException.class, () -> echo(transport.unix(socket), new byte[0]));
                assertTrue(String.valueOf(next.getStatus().getDescription()).contains(CLOSED), next::toString);
                transport.launched(socket);
                assertArrayEquals(new byte[] {1}, echo(transport.unix(socket), new byte[] {1}));
            }
        } finally {
            transport.close();
        }
    }

    @Test
    void aPeerIsForgottenAfterAMinute() {
        FloodedPeers.Peer peer = new FloodedPeers().at(new InetSocketAddress(InetAddress.getLoopbackAddress(), 1));
        assertNull(peer.flood(0));
        peer.flooded("why", 5);

        assertEquals("why", peer.flood(4 + FloodedPeers.PAUSE));
        assertNull(peer.flood(5 + FloodedPeers.PAUSE));
    }

    private static byte[] echo(ManagedChannelBuilder<?> to, byte[] message) {
        ManagedChannel channel = to.maxInboundMessageSize(2 * LARGE).build();
        try {
            return ClientCalls.blockingUnaryCall(
                    channel, ECHO, CallOptions.DEFAULT.withDeadlineAfter(PATIENCE, TimeUnit.SECONDS), message);
        } finally {
            channel.shutdownNow();
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
        EmbeddedChannel connection = FloodGuard.plain(new EmbeddedChannel(), new KeptMessages(), null);
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
        try (EchoServer _ = new EchoServer(socket)) {
            byte[] large = new byte[LARGE];
            assertArrayEquals(large, echo(transport.unix(socket), large));
        } finally {
            transport.close();
        }
    }

    /** Of a few bytes they could make many. */
    @Test
    void serversAreNotAskedToPackWhatTheySend() throws Exception {
        Path socket = directory.resolve("socket");
        try (EchoServer server = new EchoServer(socket)) {
            var _ = echo(transport.unix(socket), new byte[0]);
            assertNull(server.asked.get(Metadata.Key.of("grpc-accept-encoding", Metadata.ASCII_STRING_MARSHALLER)));
        } finally {
            transport.close();
        }
    }

    @Test
    void manyCallsAreNoFlood() throws Exception {
        Path socket = directory.resolve("socket");
        ManagedChannel channel = transport.unix(socket).build();
        try (EchoServer _ = new EchoServer(socket)) {
            for (int i = 0; i < 50; i++) {
                // Some at once, which takes far less time.
                List<ListenableFuture<byte[]>> calls = Stream.generate(() ->
                                ClientCalls.futureUnaryCall(channel.newCall(ECHO, CallOptions.DEFAULT), new byte[0]))
                        .limit(100)
                        .toList();
                assertEquals(
                        100,
                        Futures.allAsList(calls).get(PATIENCE, TimeUnit.SECONDS).size());
            }
        } finally {
            channel.shutdownNow();
            transport.close();
        }
    }

    /** A server that returns each message, with room for a large one at once. */
    private static final class EchoServer implements AutoCloseable {
        private final QuietEventLoop loop = new QuietEventLoop("echo");
        private final Server server;
        private volatile Metadata asked = new Metadata();

        EchoServer(Path socket) throws IOException {
            server = NettyServerBuilder.forAddress(UnixDomainSocketAddress.of(socket))
                    .channelType(NioServerDomainSocketChannel.class)
                    .bossEventLoopGroup(loop)
                    .workerEventLoopGroup(loop)
                    .withChildOption(ChannelOption.SO_KEEPALIVE, null)
                    .flowControlWindow(2 * LARGE)
                    .maxInboundMessageSize(2 * LARGE)
                    .intercept(new ServerInterceptor() {
                        @Override
                        public <Q, A> ServerCall.Listener<Q> interceptCall(
                                ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
                            asked = headers;
                            return next.startCall(call, headers);
                        }
                    })
                    .addService(ServerServiceDefinition.builder("test.Echo")
                            .addMethod(ECHO, ServerCalls.asyncUnaryCall((question, answer) -> {
                                answer.onNext(question);
                                answer.onCompleted();
                            }))
                            .build())
                    .build()
                    .start();
        }

        @Override
        public void close() {
            server.shutdownNow();
            var _ = loop.shutdownGracefully(0, 0, TimeUnit.SECONDS);
        }
    }

    @Test
    void anIdleConnectionMayBeKeptAliveForEver() {
        FloodGuard.Overhead overhead = new FloodGuard.Overhead(0);
        for (long second = 0; second < 1_000_000; second += 10) {
            // SETTINGS, PING and the answer to one.
            assertTrue(overhead.read(50, TimeUnit.SECONDS.toNanos(second)));
        }
    }

    @Test
    void messagesMayComeInFramesOfTheirOwnWithAChangeOfWindowsEach() {
        FloodGuard.Overhead overhead = new FloodGuard.Overhead(0);
        for (int i = 0; i < 1_000_000; i++) {
            overhead.message(25);
            assertTrue(overhead.read(9 + 25 + 13, 0));
        }
    }

    @Test
    void whatIsSentOfACallThatWasGivenUpIsNoFlood() {
        FloodGuard.Overhead overhead = new FloodGuard.Overhead(0);
        overhead.call();
        overhead.late(1 << 20);

        assertTrue(overhead.read((1 << 20) + (200 << 10), 0));
        assertFalse(overhead.read(100 << 10, 0));
    }

    @Test
    void moreThanAHundredthOfAProcessorCanHandleIsAFlood() {
        FloodGuard.Overhead overhead = new FloodGuard.Overhead(0);
        int second = 0;
        // The smallest frames, some 10,000 in a second.
        while (overhead.read(9 * 10_000, TimeUnit.SECONDS.toNanos(second)) && second < 100) {
            second++;
        }

        assertTrue(second > 2 && second < 100, "ended after " + second + " s");
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
