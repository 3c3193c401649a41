package io.homeostat.actuate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.homeostat.desired.model.guest.GuestEndpoint;
import io.homeostat.desired.model.guest.GuestEndpoint.HybridVsock;
import io.homeostat.desired.model.guest.GuestEndpoint.Unix;
import io.homeostat.observe.guest.GuestDialer;
import io.homeostat.observe.guest.UnreachableGuest;
import io.homeostat.observe.health.Health;
import io.homeostat.observe.health.Health.Verdict;
import io.homeostat.observe.health.PluginChannel;
import io.homeostat.observe.ttrpc.TtrpcChannel;
import io.homeostat.observe.ttrpc.Wire;
import java.io.BufferedReader;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Sockets that lead to a file system which never answers. */
@Timeout(value = 2, unit = TimeUnit.MINUTES)
class SilentSocketTest {
    private static final Duration SHORT = Duration.ofMillis(300);

    /** Passes a TCP connection whose other end does not read, and which takes an hour to close. */
    private static final String PASSING = """
            import socket, struct, sys
            listening = socket.socket()
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            listening.bind(('127.0.0.1', 0))
            listening.listen(20)
            server = socket.socket(socket.AF_UNIX)
            server.bind(sys.argv[1])
            server.listen()
            print('ready', flush=True)
            peer, _ = server.accept()
            for _ in range(int(sys.argv[2])):
                full = socket.socket()
                full.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65536)
                full.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 3600))
                full.connect(listening.getsockname())
                full.setblocking(False)
                try:
                    while True:
                        full.send(b'x' * 65536)
                except BlockingIOError:
                    pass
                # A SETTINGS frame of HTTP/2; no read goes beyond what a descriptor comes with.
                socket.send_fds(peer, [bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])], [full.fileno()])
                full.close()
            while True:
                try:
                    peer.recv(1)
                except ConnectionResetError:
                    pass
            """;

    private static final Executor THREADS =
            command -> Thread.ofPlatform().daemon().start(command);

    @TempDir
    private Path temp;

    private Path silent = Path.of("/");
    private Path link = Path.of("/");

    @BeforeEach
    void make() throws IOException {
        silent = Files.createDirectory(temp.resolve("silent"));
        link = Files.createSymbolicLink(temp.resolve("plugin.sock"), silent.resolve("socket"));
    }

    @Test
    void othersAreConnectedToMeanwhile() throws Exception {
        Path socket = temp.resolve("other.sock");
        try (ForeignMount _ = ForeignMount.silent(silent);
                PluginChannel plugins = new PluginChannel(InstantSource.system());
                ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
            server.bind(UnixDomainSocketAddress.of(socket));
            CompletableFuture<Integer> first = CompletableFuture.supplyAsync(() -> firstByte(server), THREADS);

            Health hanging = plugins.status(link, SHORT);
            Health refused = plugins.status(socket, Duration.ofMinutes(1));

            assertEquals(Verdict.HUNG, hanging.verdict(), hanging.toString());
            assertEquals('P', first.get(), refused.toString());
        }
    }

    private static int firstByte(ServerSocketChannel server) {
        try (SocketChannel connection = server.accept()) {
            ByteBuffer one = ByteBuffer.allocate(1);
            return connection.read(one) == 1 ? one.get(0) : -1;
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    /** The kernel closes them in the thread that reads, and for these connections it would wait for hours. */
    @Test
    void whoPassesDescriptorsHoldsUpNobody() throws Exception {
        passing(10, (plugins, socket) -> {
            Health refused = plugins.status(socket, Duration.ofMinutes(1));
            assertTrue(refused.problem().contains("it sent descriptors"), refused.toString());
            Health again = plugins.status(socket, Duration.ofMinutes(1));
            assertTrue(again.problem().contains("not connected to again yet"), again.toString());
        });
    }

    /** Those that were not read. */
    @Test
    void norDoesItWhenTheConnectionIsClosed() throws Exception {
        passing(1, (plugins, socket) -> {
            Health silent = plugins.status(socket, SHORT);
            assertEquals(Verdict.HUNG, silent.verdict(), silent.toString());
        });
    }

    @Test
    void norDoesAMonitorOfGuests() throws Exception {
        passing(10, (plugins, socket) -> {
            String words = connect(new HybridVsock(socket.toString(), 1024), Duration.ofSeconds(2));
            assertTrue(words.startsWith("NO_ANSWER") || words.startsWith("WRONG_PROTOCOL"), words);
            Awaitility.await()
                    .atMost(Duration.ofMinutes(1))
                    .until(() ->
                            threads("connect ").isEmpty() && threads("close").isEmpty());
        });
    }

    @Test
    void norDoesAGuestThatIsConnectedTo() throws Exception {
        passing(10, (plugins, socket) -> {
            try (ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor()) {
                TtrpcChannel guest = new TtrpcChannel(
                        new GuestDialer(timer).connect(new Unix(socket.toString()), Duration.ofMinutes(1)),
                        "guest",
                        timer);
                Awaitility.await()
                        .atMost(Duration.ofMinutes(1))
                        .until(() -> threads("ttrpc guest reader").stream()
                                .flatMap(thread -> Arrays.stream(thread.getStackTrace()))
                                .anyMatch(frame -> frame.getMethodName().equals("read0")));
                guest.close();
                Awaitility.await()
                        .atMost(Duration.ofMinutes(1))
                        .until(() -> threads("ttrpc guest").isEmpty());
            } catch (UnreachableGuest e) {
                throw new AssertionError(e);
            }
        });
    }

    private static List<Thread> threads(String name) {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith(name))
                .toList();
    }

    private static String connect(GuestEndpoint endpoint, Duration timeout) {
        try (ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();
                Wire wire = new GuestDialer(timer).connect(endpoint, timeout)) {
            return "connected: " + wire;
        } catch (UnreachableGuest e) {
            return e.reason() + ": " + e.getMessage();
        } catch (IOException e) {
            return e.toString();
        }
    }

    private interface Calls {
        void at(PluginChannel plugins, Path socket);
    }

    private void passing(int frames, Calls calls) throws Exception {
        Path socket = temp.resolve("evil.sock");
        Path other = temp.resolve("other.sock");
        assumeTrue(Files.isExecutable(Path.of("/usr/bin/python3")), "python3 passes descriptors here");
        Process evil = new ProcessBuilder("/usr/bin/python3", "-c", PASSING, socket.toString(), String.valueOf(frames))
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        try (PluginChannel plugins = new PluginChannel(InstantSource.system());
                ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
                BufferedReader said = evil.inputReader()) {
            assertEquals("ready", said.readLine());
            server.bind(UnixDomainSocketAddress.of(other));
            CompletableFuture<Integer> first = CompletableFuture.supplyAsync(() -> firstByte(server), THREADS);

            calls.at(plugins, socket);
            Health after = plugins.status(other, Duration.ofMinutes(1));

            assertEquals('P', first.get(), after.toString());
        } finally {
            evil.destroyForcibly().waitFor();
        }
    }

    @Test
    void aGuestThereDoesNotAnswer() throws Exception {
        try (ForeignMount _ = ForeignMount.silent(silent)) {
            String words = connect(new Unix(link.toString()), SHORT);
            assertTrue(words.startsWith("NO_ANSWER"), words);
        }
    }

    @Test
    void aSocketOnAFileSystemOfAUserIsNotConnectedTo() throws Exception {
        try (ForeignMount _ = ForeignMount.at(silent);
                PluginChannel plugins = new PluginChannel(InstantSource.system())) {
            Health health = plugins.status(link, Duration.ofMinutes(1));

            assertEquals(Verdict.UNKNOWN, health.verdict(), health.toString());
            assertTrue(health.problem().contains("permission denied"), health.toString());
        }
    }
}
