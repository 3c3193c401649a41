package io.homeostat.e2e;

import static io.homeostat.e2e.Patience.eventually;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.sun.net.httpserver.HttpServer;
import io.homeostat.e2e.Bucket.Stored;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** What counts as well and as unwell, for plugins and by each kind of probe. */
final class HealthTest {
    /** For servers of these tests, which a busy machine may keep from answering for seconds. */
    private static final String ANSWERED = "30s";

    @RegisterExtension
    final Homeostat homeostat = new Homeostat();

    @RegisterExtension
    final Bucket bucket = new Bucket();

    @Test
    void aPluginThatReportsACodeRunsAndIsNotRestarted() {
        Document greeter = greeter("status-code=1");
        homeostat.applied(greeter);
        long pid = homeostat.pid("plugin/greeter");

        homeostat.applied(greeter).says("1 unchanged");

        JsonNode status = homeostat.status("plugin/greeter");
        assertEquals("RUNNING", status.get("state").asText());
        assertEquals(1, status.at("/health/code").asInt());
        assertEquals(pid, status.get("pid").asLong());
        assertEquals(0, status.get("restarts").asInt());
    }

    @Test
    void aPluginWhoseHealthCheckFailsIsRestartedAfterSomeFailures() {
        Document greeter = greeter("status-error")
                .with("health", Map.of("interval", "1s", "timeout", "1s", "failureThreshold", 2));

        homeostat.apply(greeter).says("told to be unwell");

        assertTrue(homeostat.events("plugin/greeter").contains("CRASHED 1"));
        homeostat.run("status").exits(1);
    }

    @Test
    void aProcessIsWellWhenItsHttpProbeSucceeds() throws IOException {
        AtomicInteger status = new AtomicInteger(503);
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/", exchange -> {
            exchange.sendResponseHeaders(status.get(), -1);
            exchange.close();
        });
        server.start();
        try {
            Document web = sleeper()
                    .with(
                            "probe.http.url",
                            "http://127.0.0.1:" + server.getAddress().getPort() + "/health")
                    .with("health.timeout", ANSWERED);
            homeostat.apply(impatient(web)).exits(1).says("503");
            assertEquals(
                    "INSTALL_FAILED",
                    homeostat.status("process/web").get("state").asText());

            status.set(204);
            homeostat.applied(web);

            assertWell();
            status.set(500);
            homeostat.run("status").exits(1).says("500");
        } finally {
            server.stop(0);
        }
    }

    @Test
    void aProcessIsWellWhenItsPortIsOpen() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
            homeostat
                    .apply(sleeper().with("probe.tcp.address", "127.0.0.1:" + socket.getLocalPort()))
                    .exits(0);

            assertWell();
        }
        // A process that another test is just starting may hold the socket open for a moment longer.
        eventually().until(() -> homeostat.run("status").exit() != 0);
        homeostat.run("status").exits(1).says("Connection refused");
    }

    @Test
    void aProcessIsWellWhenItsCommandSucceeds() {
        Path mark = homeostat.directory().resolve("ok");
        Document web = sleeper()
                .with("arguments", new String[] {"-c", "sleep 1; : > " + mark + "; exec sleep 1000"})
                .with("probe.exec.command", new String[] {"/usr/bin/test", "-e", mark.toString()});

        homeostat.applied(web);

        assertWell();
    }

    @Test
    void aProcessIsWellWhenItsGrpcHealthServiceSaysSo() throws IOException {
        try (GrpcHealthServer server = new GrpcHealthServer("web")) {
            Document web = sleeper()
                    .with("probe.grpc", Map.of("address", server.address(), "service", "web"))
                    .with("health.timeout", ANSWERED);
            server.serving(false);
            homeostat.apply(impatient(web)).exits(1).says("NOT_SERVING");

            server.serving(true);
            homeostat.applied(web);

            assertWell();
        }
    }

    @Test
    void aProcessWithoutAProbeIsWellWhenItStaysAlive() {
        homeostat
                .apply(Document.script("web", "sleep 0.3; exit 7").with("start.attempts", 1))
                .exits(1)
                .says("status 7");

        JsonNode status = homeostat.status("process/web");
        assertEquals("INSTALL_FAILED", status.get("state").asText());
        assertEquals(7, status.at("/lastExit/code").asInt());
        assertEquals("EXITED", status.at("/lastExit/reason").asText());
        assertEquals(List.of(), homeostat.processes("process/web"));
    }

    private void assertWell() {
        JsonNode status = homeostat.status("process/web");
        assertEquals("RUNNING", status.get("state").asText());
        assertEquals("True", Homeostat.condition(status, "Healthy"));
        assertEquals(0, status.at("/health/code").asInt());
        assertNotEquals(0, status.get("pid").asLong());
    }

    private static Document impatient(Document document) {
        return document.with("start", Map.of("timeout", "1s", "attempts", 1));
    }

    private static Document sleeper() {
        return Document.script("web", "exec sleep 1000");
    }

    private Document greeter(String fault) {
        Stored archive = bucket.put("greeter.tar.gz", Bucket.greeter());
        return Document.greeter("greeter", "1", bucket.signedUrl(archive)).arguments("--fault=" + fault);
    }
}
