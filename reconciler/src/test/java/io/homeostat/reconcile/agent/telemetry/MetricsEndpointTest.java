package io.homeostat.reconcile.agent.telemetry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.github.benmanes.caffeine.cache.Ticker;
import io.homeostat.reconcile.agent.telemetry.MetricsServer.MetricsEndpoint;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class MetricsEndpointTest {
    @TempDir
    private Path directory;

    private Path socket(String name) {
        return directory.resolve(name);
    }

    private String listen(String name) {
        return "unix:" + socket(name);
    }

    private static Object key(Path file) throws IOException {
        return Files.getAttribute(file, "unix:ino");
    }

    @Test
    void itMovesWhereItIsToldToAndStaysWhereItIs() throws IOException {
        try (MetricsEndpoint endpoint =
                new MetricsEndpoint(Telemetry.of(Ticker.systemTicker(), "test", Instant.EPOCH))) {
            endpoint.listen(listen("a"));
            Object first = key(socket("a"));
            endpoint.listen(listen("a"));
            assertEquals(first, key(socket("a")), "opened anew for nothing");

            endpoint.listen(listen("b"));
            assertFalse(Files.exists(socket("a")));
            SocketChannel.open(UnixDomainSocketAddress.of(socket("b"))).close();

            endpoint.listen("");
            assertFalse(Files.exists(socket("b")));
        }
    }

    @Test
    void whatCannotBeOpenedIsAProblemAndIsTriedAgain() throws IOException {
        Files.writeString(socket("b"), "in the way");
        try (MetricsEndpoint endpoint =
                new MetricsEndpoint(Telemetry.of(Ticker.systemTicker(), "test", Instant.EPOCH))) {
            endpoint.listen(listen("a"));
            endpoint.listen(listen("b"));
            assertFalse(Files.exists(socket("a")));
            assertEquals("in the way", Files.readString(socket("b")));
            assertTrue(endpoint.problem().startsWith("nothing is served at " + listen("b") + ": "), endpoint::problem);
            endpoint.ensure();
            assertFalse(endpoint.problem().isEmpty());

            Files.delete(socket("b"));
            endpoint.ensure();
            assertEquals("", endpoint.problem());
            SocketChannel.open(UnixDomainSocketAddress.of(socket("b"))).close();
        }
        assertFalse(Files.exists(socket("b")));
    }

    @Test
    void aPortThatIsTakenIsAProblemUntilSomethingElseIsWanted() throws IOException {
        try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
                MetricsEndpoint endpoint =
                        new MetricsEndpoint(Telemetry.of(Ticker.systemTicker(), "test", Instant.EPOCH))) {
            endpoint.listen("127.0.0.1:" + taken.getLocalPort());
            assertFalse(endpoint.problem().isEmpty());
            endpoint.listen("");
            assertEquals("", endpoint.problem());
        }
    }
}
