package io.homeostat.reconcile.agent.api;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.grpc.ManagedChannel;
import io.grpc.StatusRuntimeException;
import io.homeostat.proto.agent.AgentGrpc;
import io.homeostat.reconcile.agent.api.ApiException.Kind;
import java.io.IOException;
import java.net.SocketException;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Who may not call, calls wrongly, or is too many. */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class StrangersTest {
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    @TempDir
    Path directory;

    private Path socket;

    @BeforeEach
    void chooseSocket() {
        socket = directory.resolve("agent.sock");
    }

    @Test
    void whoIsNotAllowedIsNotListenedTo() throws IOException {
        try (ApiServer _ = ApiServer.start(socket, new Answers(output -> 0), user -> false)) {
            ApiException e = assertThrows(ApiException.class, () -> Reading.ask(socket));
            assertEquals(Kind.UNANSWERED, e.kind());
            try (SocketChannel channel = SocketChannel.open(UnixDomainSocketAddress.of(socket))) {
                assertEquals(-1, channel.read(ByteBuffer.allocate(1)));
            }
        }
    }

    /** Each call is refused at once. gRPC itself bounds only its answers to control frames. */
    @Test
    void whoReadsNoAnswersIsDisconnected() throws IOException {
        try (ApiServer _ = ApiServer.start(socket, new Answers(output -> 0));
                SocketChannel channel = SocketChannel.open(UnixDomainSocketAddress.of(socket))) {
            channel.write(StandardCharsets.US_ASCII.encode("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"));
            channel.write(frame(4, 0, 0));
            assertThrows(IOException.class, () -> {
                // HEADERS with END_STREAM and END_HEADERS; a method by its number and nothing else.
                for (int stream = 1; stream < 2_000_000; stream += 2) {
                    ByteBuffer call = frame(1, 5, stream, (byte) 0x83);
                    while (call.hasRemaining()) {
                        channel.write(call);
                    }
                }
            });
        }
    }

    private static ByteBuffer frame(int type, int flags, int stream, byte... payload) {
        return ByteBuffer.allocate(9 + payload.length)
                .put((byte) 0)
                .putShort((short) payload.length)
                .put((byte) type)
                .put((byte) flags)
                .putInt(stream)
                .put(payload)
                .flip();
    }

    @Test
    void theKernelSaysWhoCallsAndAnotherUserIsRefused() throws IOException, InterruptedException {
        assumeTrue(Files.getOwner(Path.of("/proc/self")).getName().equals("root"), "only root can be somebody else");
        assumeTrue(Files.isExecutable(Path.of("/usr/bin/setpriv")) && Files.isExecutable(Path.of("/usr/bin/python3")));
        Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwxr-xr-x"));
        try (ApiServer _ = ApiServer.start(socket, new Answers(output -> 0))) {
            // What the permissions would refuse must not depend on them alone.
            Files.setPosixFilePermissions(socket, PosixFilePermissions.fromString("rw-rw-rw-"));
            assertEquals("greeted", connectAs("0"));
            assertEquals("closed", connectAs("65534"));
            assertEquals("0 ", Reading.ask(socket));
        }
    }

    /** HTTP/2 servers speak first: their settings. */
    private String connectAs(String uid) throws IOException, InterruptedException {
        Process process = new ProcessBuilder(
                        "setpriv", "--reuid=" + uid, "--clear-groups", "/usr/bin/python3", "-c", """
                        import socket, sys
                        s = socket.socket(socket.AF_UNIX)
                        s.settimeout(30)
                        s.connect(sys.argv[1])
                        try:
                            s.sendall(b"PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n\\0\\0\\0\\4\\0\\0\\0\\0\\0")
                            print("greeted" if s.recv(9) else "closed")
                        except (ConnectionResetError, BrokenPipeError):
                            print("closed")
                        """, socket.toString())
                .redirectErrorStream(true)
                .start();
        String said = new String(process.getInputStream().readAllBytes(), java.nio.charset.StandardCharsets.UTF_8);
        assertTrue(process.waitFor(60, TimeUnit.SECONDS));
        return said.strip();
    }

    @Test
    void garbageCostsItsConnectionAndNothingElse() throws IOException, InterruptedException {
        Random random = new Random(7);
        try (ApiServer _ = ApiServer.start(socket, new Answers(output -> 0))) {
            for (int i = 0; i < 50; i++) {
                byte[] bytes = new byte[1 + random.nextInt(4096)];
                random.nextBytes(bytes);
                try (SocketChannel channel = SocketChannel.open(UnixDomainSocketAddress.of(socket))) {
                    channel.write(ByteBuffer.wrap(bytes));
                    if (i % 2 == 0) {
                        awaitEnd(channel);
                    }
                } catch (IOException e) {
                    // Closed while we were still writing: as good an answer.
                    assertTrue(String.valueOf(e.getMessage()).matches("Broken pipe|Connection reset.*"), e.toString());
                }
            }
            assertEquals("0 ", Reading.ask(socket));
        }
    }

    private static void awaitEnd(SocketChannel channel) throws IOException {
        ByteBuffer buffer = ByteBuffer.allocate(4096);
        try {
            while (channel.read(buffer) >= 0) {
                buffer.clear();
            }
        } catch (SocketException e) {
            // An end, too: before the server had read what was written.
            assertEquals("Connection reset", e.getMessage());
        }
    }

    @Test
    void aServerOfAnotherUserIsToldNothing() {
        AtomicInteger calls = new AtomicInteger();
        try (ApiServer _ = ApiServer.start(socket, new Answers(output -> calls.incrementAndGet()));
                ApiClient client = new ApiClient(socket, PATIENCE, new LocalTransport(user -> false))) {
            ApiException e = assertThrows(ApiException.class, () -> client.run(Reading.REQUEST, new Reading()));

            assertEquals(Kind.REFUSED, e.kind());
            assertTrue(e.getMessage().contains("neither root nor you"), e.getMessage());
        }
        assertEquals(0, calls.get());
    }

    @Test
    void twoHundredConnectionsDelayNobodyAndTooManyAreClosed() throws IOException, InterruptedException {
        List<SocketChannel> open = new ArrayList<>();
        try (ApiServer _ = ApiServer.start(socket, new Answers(output -> 0))) {
            for (int i = 0; i < 200; i++) {
                open.add(SocketChannel.open(UnixDomainSocketAddress.of(socket)));
            }
            assertEquals("0 ", Reading.ask(socket));
            for (int i = 0; i < 100; i++) {
                open.add(SocketChannel.open(UnixDomainSocketAddress.of(socket)));
            }
            assertEquals(-1, open.getLast().read(ByteBuffer.allocate(1)));
            assertEquals(
                    Kind.UNANSWERED,
                    assertThrows(ApiException.class, () -> Reading.ask(socket)).kind());

            for (SocketChannel channel : open) {
                channel.close();
            }
            await().atMost(PATIENCE)
                    .ignoreExceptions()
                    .until(() -> Reading.ask(socket).equals("0 "));
        } finally {
            for (SocketChannel channel : open) {
                channel.close();
            }
        }
    }

    @Test
    void moreCallsThanAreAnsweredAtOnceAreToldToTryLater() throws InterruptedException {
        CountDownLatch begun = new CountDownLatch(64);
        CountDownLatch goOn = new CountDownLatch(1);
        Answers answers = new Answers(output -> {
            begun.countDown();
            goOn.await();
            return 0;
        });
        List<ManagedChannel> channels = new ArrayList<>();
        try (ApiServer _ = ApiServer.start(socket, answers);
                LocalTransport transport = new LocalTransport()) {
            for (int i = 0; i < 4; i++) {
                ManagedChannel channel = transport.channel(socket);
                channels.add(channel);
                for (int call = 0; call < 16; call++) {
                    AgentGrpc.newBlockingStub(channel).run(Reading.REQUEST);
                }
            }
            assertTrue(begun.await(30, TimeUnit.SECONDS));
            ApiException e = assertThrows(ApiException.class, () -> Reading.ask(socket));
            assertEquals(Kind.REFUSED, e.kind());
            assertTrue(e.getMessage().contains("try again later"), e.getMessage());
            goOn.countDown();
            await().atMost(PATIENCE)
                    .ignoreExceptions()
                    .until(() -> Reading.ask(socket).equals("0 "));
        } finally {
            channels.forEach(ManagedChannel::shutdownNow);
        }
        assertFalse(Files.exists(socket));
    }

    @Test
    void connectionsThatNobodyUsesEndWithTheServer() throws IOException {
        SocketChannel idle;
        try (ApiServer _ = ApiServer.start(socket, new Answers(output -> 0))) {
            idle = SocketChannel.open(UnixDomainSocketAddress.of(socket));
        }
        try (SocketChannel channel = idle) {
            awaitEnd(channel);
        }
        assertThrows(StatusRuntimeException.class, () -> {
            try (LocalTransport transport = new LocalTransport()) {
                ManagedChannel channel = transport.channel(socket);
                try {
                    AgentGrpc.newBlockingStub(channel).run(Reading.REQUEST).hasNext();
                } finally {
                    channel.shutdownNow();
                }
            }
        });
    }
}
