package io.homeostat.e2e;

import static io.homeostat.e2e.Patience.eventually;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.sun.net.httpserver.HttpServer;
import io.homeostat.controlplane.FreePorts;
import io.homeostat.e2e.Bucket.Stored;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
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

    @Tag("nightly")
    @Test
    void aPluginThatReportsACodeRunsAndIsNotRestarted() {
        Document greeter = greeter("status-code=1");
        homeostat.applied(greeter);
        long pid = homeostat.pid("plugin/greeter");

        homeostat.applied(greeter).says("1 unchanged");

        JsonNode status = homeostat.status("plugin/greeter");
        assertEquals("RUNNING", status.get("state").asText());
        assertEquals(1, status.at("/health/code").asInt());
        assertEquals("False", Homeostat.condition(status, "Healthy"));
        homeostat.run("status").exits(1);
        assertEquals(pid, status.get("pid").asLong());
        assertEquals(0, status.get("restarts").asInt());
    }

    @Test
    void aPluginWhoseHealthCheckFailsIsRestartedAfterSomeFailures() {
        Document greeter = greeter("status-error")
                .with("health", Map.of("interval", "1s", "timeout", ANSWERED, "failureThreshold", 2));

        homeostat.apply(greeter).says("told to be unwell");

        assertTrue(homeostat.events("plugin/greeter").contains("CRASHED 1"));
        homeostat.run("status").exits(1);
    }

    @Test
    void aProcessIsWellWhenItsHttpProbeSucceeds() throws IOException {
        int port = FreePorts.take();
        Path answer = homeostat.file("answer", "503");
        Document web = ProbedServer.document("http", port, answer)
                .with("probe.http.url", "http://127.0.0.1:" + port + "/health")
                .with("health.timeout", ANSWERED);
        homeostat.apply(impatient(web).with("start.timeout", "10s")).exits(1).says("503");
        assertEquals(
                "INSTALL_FAILED", homeostat.status("process/web").get("state").asText());

        homeostat.file("answer", "204");
        homeostat.applied(web);

        assertWell();
        homeostat.file("answer", "500");
        homeostat.run("status").exits(1).says("500");
    }

    @Test
    void aProcessIsWellWhenItsPortIsOpen() throws IOException {
        int port = FreePorts.take();
        homeostat
                .apply(ProbedServer.document("tcp", port, homeostat.file("answer", ""))
                        .with("probe.tcp.address", "127.0.0.1:" + port))
                .exits(0);

        assertWell();
        ProbedServer.hangUp(port);
        eventually().until(() -> homeostat.run("status").exit() != 0);
        homeostat.run("status").exits(1).says("Connection refused");
    }

    @Tag("nightly")
    @Test
    void aProcessWhosePortIsTakenIsNotWellBecauseAnotherAnswers() throws IOException {
        HttpServer other = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        other.createContext("/", exchange -> {
            exchange.sendResponseHeaders(200, -1);
            exchange.close();
        });
        other.start();
        try {
            int port = other.getAddress().getPort();
            String url = "http://127.0.0.1:" + port + "/health";
            homeostat
                    .apply(impatient(sleeper().with("probe.http.url", url)))
                    .exits(1)
                    .says("127.0.0.1:" + port)
                    .says("process " + ProcessHandle.current().pid() + " (java)");
            homeostat.run("delete", "process/web").exits(0);

            homeostat
                    .apply(impatient(ProbedServer.document("tcp", port, homeostat.file("answer", ""))
                            .with("probe.http.url", url)
                            .with("start.timeout", "60s")))
                    .exits(1)
                    .says("status 1; its log");
            assertNotEquals(
                    "RUNNING", homeostat.status("process/web").get("state").asText());
        } finally {
            other.stop(0);
        }
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
        int port = FreePorts.take();
        Document web = ProbedServer.document("grpc", port, homeostat.file("answer", "NOT_SERVING"))
                .with("probe.grpc", Map.of("address", "127.0.0.1:" + port, "service", "web"))
                .with("health.timeout", ANSWERED);
        homeostat.apply(impatient(web).with("start.timeout", "20s")).exits(1).says("NOT_SERVING");

        homeostat.file("answer", "SERVING");
        homeostat.applied(web);

        assertWell();
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
