package io.homeostat.reconcile.agent.telemetry;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import com.google.common.util.concurrent.Uninterruptibles;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.SocketException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class MetricsServerTest {
    private static final SocketAddress LOOPBACK = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);

    @TempDir
    private Path directory;

    private volatile Optional<String> problem = Optional.empty();
    private final List<AutoCloseable> open = new ArrayList<>();

    @AfterEach
    void close() throws Exception {
        for (AutoCloseable one : open) {
            one.close();
        }
    }

    private MetricsServer server(SocketAddress address, Duration patience) throws IOException {
        MetricsServer server = MetricsServer.open(address, () -> "homeostat_up 1\n", () -> problem, patience);
        open.add(server);
        return server;
    }

    private SocketAddress server() throws IOException {
        return server(LOOPBACK, MetricsServer.PATIENCE).address();
    }

    private SocketChannel connect(SocketAddress address) throws IOException {
        SocketChannel channel = SocketChannel.open(address);
        open.add(channel);
        return channel;
    }

    private String ask(SocketAddress address, String request) throws IOException {
        SocketChannel channel = connect(address);
        channel.write(ByteBuffer.wrap(request.getBytes(StandardCharsets.ISO_8859_1)));
        return readAll(channel);
    }

    private static String readAll(SocketChannel channel) throws IOException {
        StringBuilder all = new StringBuilder();
        ByteBuffer buffer = ByteBuffer.allocate(4096);
        try {
            while (channel.read(buffer) >= 0) {
                all.append(StandardCharsets.ISO_8859_1.decode(buffer.flip()));
                buffer.clear();
            }
        } catch (IOException e) {
            // Closed with data of ours unread.
            return all.toString();
        }
        return all.toString();
    }

    private static String get(String path) {
        return "GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n";
    }

    @Test
    void metricsAreServedInPrometheusFormat() throws IOException {
        String answer = ask(server(), get("/metrics"));

        assertTrue(answer.startsWith("HTTP/1.1 200 OK\r\n"), answer);
        assertTrue(answer.contains("text/plain; version=0.0.4; charset=utf-8"), answer);
        assertTrue(answer.endsWith("\r\n\r\nhomeostat_up 1\n"), answer);
    }

    @Test
    void healthIsGreenUntilThereIsAProblemAndRedWithItsReason() throws IOException {
        SocketAddress address = server();
        assertTrue(ask(address, get("/healthz")).endsWith("\r\n\r\nok\n"));
        problem = Optional.of("the loop has begun\nno pass");
        String answer = ask(address, get("/healthz?x=1"));

        assertTrue(answer.startsWith("HTTP/1.1 503 "), answer);
        assertTrue(answer.endsWith("\r\n\r\nthe loop has begun\\nno pass\n"), answer);
    }

    @Test
    void aHeadHasTheLengthAndNoBody() throws IOException {
        String answer = ask(server(), "HEAD /metrics HTTP/1.1\r\nHost: x\r\n\r\n");

        assertTrue(answer.toLowerCase(Locale.ROOT).contains("content-length: 15\r\n"), answer);
        assertTrue(answer.endsWith("\r\n\r\n"), answer);
    }

    @Test
    void whatIsNotAskedForHereIsRefused() throws IOException {
        SocketAddress address = server();
        assertTrue(ask(address, get("/")).startsWith("HTTP/1.1 404 "));
        assertTrue(ask(address, get("/metrics/..")).startsWith("HTTP/1.1 404 "));
        assertTrue(ask(address, "POST /metrics HTTP/1.1\r\nContent-Length: 0\r\n\r\n")
                .startsWith("HTTP/1.1 405 "));
        assertTrue(ask(address, get("/" + "x".repeat(5000))).startsWith("HTTP/1.1 400 "));
        assertTrue(ask(address, "GET / HTTP/1.1\r\nX: " + "x".repeat(20_000) + "\r\n\r\n")
                .startsWith("HTTP/1.1 400 "));
        assertTrue(ask(address, get("/healthz")).startsWith("HTTP/1.1 200 "), "and the others are served on");
    }

    @Test
    void whoSendsHalfARequestIsNotWaitedForForEver() throws IOException {
        MetricsServer server = server(LOOPBACK, Duration.ofMillis(300));
        SocketChannel slow = connect(server.address());
        slow.write(ByteBuffer.wrap("GET /metrics HT".getBytes(StandardCharsets.ISO_8859_1)));

        assertEquals("", readAll(slow));
        // On a busy machine a whole request, too, may take longer than that.
        await().atMost(Duration.ofSeconds(20))
                .ignoreExceptions()
                .until(() -> ask(server.address(), get("/healthz")).startsWith("HTTP/1.1 200 "));
    }

    @Test
    void idleConnectionsKeepNobodyOut() throws IOException {
        MetricsServer server = server(LOOPBACK, Duration.ofHours(1));
        for (int i = 0; i < 100; i++) {
            connect(server.address());
        }

        for (String path : List.of("/healthz", "/metrics")) {
            String answer = ask(server.address(), get(path));
            assertTrue(answer.startsWith("HTTP/1.1 200 "), answer);
        }
    }

    @Test
    void aUnixSocketIsForItsOwnerAloneAndGoesWithTheServer() throws IOException {
        Path socket = directory.resolve("metrics.sock");
        MetricsServer server = server(UnixDomainSocketAddress.of(socket), MetricsServer.PATIENCE);

        assertEquals("rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(socket)));
        assertTrue(ask(UnixDomainSocketAddress.of(socket), get("/metrics")).endsWith("homeostat_up 1\n"));
        try (Stream<Path> besides = Files.list(directory)) {
            assertEquals(List.of(socket), besides.toList(), "a killed agent would leave it behind");
        }
        server.close();
        try (Stream<Path> left = Files.list(directory)) {
            assertEquals(List.of(), left.toList());
        }
    }

    @Test
    void aSocketThatADeadProcessLeftIsReplacedAndALiveOneIsNot() throws IOException {
        Path socket = directory.resolve("metrics.sock");
        ServerSocketChannel dead = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
        dead.bind(UnixDomainSocketAddress.of(socket));
        dead.close();
        assertTrue(Files.exists(socket));

        server(UnixDomainSocketAddress.of(socket), MetricsServer.PATIENCE);

        IOException refused = assertThrows(
                IOException.class, () -> server(UnixDomainSocketAddress.of(socket), MetricsServer.PATIENCE));
        assertTrue(refused.toString().contains("is in use by another process"), refused.toString());
        assertTrue(ask(UnixDomainSocketAddress.of(socket), get("/healthz")).startsWith("HTTP/1.1 200 "));
    }

    @Test
    void aSocketWhoseProcessTakesNoConnectionsJustNowIsLeftToIt() throws IOException {
        Path socket = directory.resolve("metrics.sock");
        try (ServerSocketChannel busy = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
            // As a metrics server does it.
            Path elsewhere = directory.resolve("s");
            busy.bind(UnixDomainSocketAddress.of(elsewhere), 1);
            Files.move(elsewhere, socket);
            fill(socket);

            IOException refused = assertThrows(
                    IOException.class, () -> server(UnixDomainSocketAddress.of(socket), MetricsServer.PATIENCE));
            assertTrue(refused.toString().contains("in use"), refused.toString());
        }
    }

    /** Connects until the queue of those that wait to be accepted is full. */
    private void fill(Path socket) throws IOException {
        for (int i = 0; i < 100; i++) {
            SocketChannel waiting = SocketChannel.open(StandardProtocolFamily.UNIX);
            open.add(waiting);
            waiting.configureBlocking(false);
            try {
                waiting.connect(UnixDomainSocketAddress.of(socket));
            } catch (SocketException e) {
                return;
            }
        }
        fail("the queue is never full");
    }

    @Test
    void aFileThatIsNoSocketIsLeftAlone() throws IOException {
        Path file = Files.writeString(directory.resolve("precious"), "data");

        assertThrows(IOException.class, () -> server(MetricsServer.address("unix:" + file), MetricsServer.PATIENCE));
        assertEquals("data", Files.readString(file));
    }

    @Test
    void whoAsksWhileAScrapeIsUnderWayWaitsForThat() throws Exception {
        AtomicInteger begun = new AtomicInteger();
        CountDownLatch goOn = new CountDownLatch(1);
        AtomicLong nanos = new AtomicLong();
        MetricsServer.Scrapes scrapes = new MetricsServer.Scrapes(
                () -> {
                    begun.incrementAndGet();
                    Uninterruptibles.awaitUninterruptibly(goOn);
                    nanos.addAndGet(10);
                    return "text";
                },
                nanos::get);
        CompletableFuture<byte[]> first = scrapes.scrape();
        CompletableFuture<byte[]> second = scrapes.scrape();
        goOn.countDown();

        assertArrayEquals("text".getBytes(StandardCharsets.UTF_8), first.get());
        assertSame(first, second);
        assertEquals(1, begun.get());
        nanos.addAndGet(39);
        assertSame(first, scrapes.scrape());
        nanos.addAndGet(1);
        assertNotSame(first, scrapes.scrape());
    }

    @Test
    void aScrapeThatFailsIsAnsweredAndTheNextOneIsAnother() throws Exception {
        AtomicInteger scrapes = new AtomicInteger();
        MetricsServer server = MetricsServer.open(
                LOOPBACK,
                () -> {
                    if (scrapes.incrementAndGet() == 1) {
                        throw new IllegalStateException("thrown by the test");
                    }
                    return "homeostat_up 1\n";
                },
                () -> problem,
                MetricsServer.PATIENCE);
        open.add(server);

        assertTrue(ask(server.address(), get("/metrics")).startsWith("HTTP/1.1 500 "));
        assertTrue(ask(server.address(), get("/metrics")).startsWith("HTTP/1.1 200 "));
    }

    @Test
    void aHostThatIsNotKnownIsNoServer() {
        SocketAddress nowhere = MetricsServer.address("no.such.host.invalid:1");
        assertThrows(IOException.class, () -> server(nowhere, MetricsServer.PATIENCE));
    }

    @Test
    void aPageOfAnotherNameReadsNothingThatIsServedForThisMachineAlone() throws IOException {
        SocketAddress address = server();
        assertTrue(ask(address, "GET /metrics HTTP/1.1\r\nHost: rebound.example.com:9464\r\n\r\n")
                .startsWith("HTTP/1.1 421 "));
        assertTrue(ask(address, "GET /healthz HTTP/1.1\r\nHost: rebound.example.com\r\n\r\n")
                .startsWith("HTTP/1.1 421 "));
        for (String own : List.of("127.0.0.1:9464", "[::1]:9464", "localhost:1", "localhost", "")) {
            assertTrue(MetricsServer.isThis(address, own), own);
        }
        InetAddress loopback = InetAddress.getLoopbackAddress();
        SocketAddress named =
                new InetSocketAddress(InetAddress.getByAddress("metrics.example.com", loopback.getAddress()), 1);
        assertTrue(MetricsServer.isThis(named, "metrics.example.com"), "as metrics.listen has it");
        assertFalse(MetricsServer.isThis(named, "metrics.example.com.example.org"));
        assertFalse(MetricsServer.isThis(address, "a:b:c.d"));
        assertTrue(MetricsServer.isThis(new InetSocketAddress("0.0.0.0", 1), "host.example.com"), "for other machines");
    }

    @Test
    void addressesOfEitherFamilyAreRead() {
        assertEquals(
                new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), 9464),
                MetricsServer.address("127.0.0.1:9464"));
        assertEquals(new InetSocketAddress(InetAddress.ofLiteral("::1"), 9464), MetricsServer.address("[::1]:9464"));
        assertEquals(UnixDomainSocketAddress.of("/run/a:b"), MetricsServer.address("unix:/run/a:b"));
    }
}
