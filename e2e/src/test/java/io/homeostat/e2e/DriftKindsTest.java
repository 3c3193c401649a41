package io.homeostat.e2e;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.google.errorprone.annotations.CanIgnoreReturnValue;
import io.homeostat.e2e.Bucket.Stored;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * Each kind of drift has a reason of its own, in {@code plan} and in the condition Converged of {@code status}, is repaired by
 * {@code apply}, tells of itself in one event, and is no crash of the workload.
 */
final class DriftKindsTest {
    private static final String ID = "process/web";

    @RegisterExtension
    final Homeostat homeostat = new Homeostat();

    @RegisterExtension
    final Bucket bucket = new Bucket();

    private Document web = Document.process("web");

    /** How many events the test has looked at. */
    private int told;

    @BeforeEach
    void declareWeb() {
        byte[] archive = new TarGz()
                .file("bin/run", 0755, "#!/bin/sh\nrm -f " + broken() + "\necho started\nexec sleep 1000\n")
                .file("etc/web.conf", 0644, "port=1\n")
                .bytes();
        Stored stored = bucket.put("web.tar.gz", archive);
        web = Document.process("web")
                .with("revision", "1")
                .with("source.url", bucket.signedUrl(stored))
                .with("source.sha256", stored.sha256())
                .with("entryPoint", "bin/run");
    }

    @Test
    void aProcessThatIsGone() {
        homeostat.applied(web);
        homeostat.kill(ID);
        assertDrift("restart", "PROCESS_EXITED", "9 (SIGKILL)");
        assertRepaired(web, "PLUGIN_CRASHED", "9 (SIGKILL)");
    }

    @Test
    void aProgramThatWasChangedOnDisk() throws IOException {
        homeostat.applied(web);
        long pid = homeostat.process(ID);
        Files.writeString(installed().resolve("bin/run"), "#!/bin/sh\nexit 1\n");

        assertDrift("reinstall", "INSTALL_DAMAGED", "bin/run");

        JsonNode repaired = assertRepaired(web, "DRIFT_DETECTED", "bin/run");
        assertNotEquals(pid, homeostat.process(ID));
        assertEquals(1, repaired.get("restarts").asInt());
        assertTrue(Files.readString(installed().resolve("bin/run")).contains("exec sleep"));
        assertEquals(1, homeostat.processes(ID).size());
        assertEquals(1, bucket.requests(), "put back from the cache");
    }

    @Test
    void anUnpackedFileThatWasDeleted() throws IOException {
        homeostat.applied(web);
        Files.delete(installed().resolve("etc/web.conf"));
        assertDrift("reinstall", "INSTALL_DAMAGED", "etc/web.conf");
        assertRepaired(web, "DRIFT_DETECTED", "etc/web.conf");
    }

    @Tag("nightly")
    @Test
    void whatIsDamagedAgainRightAfterItsRepairWaitsUnlessSomebodyAsks() throws IOException {
        homeostat.applied(web);
        assertTrue(installed().resolve("bin/run").toFile().setExecutable(false, false));
        homeostat.applied(web).says("1 repaired");
        assertTrue(installed().resolve("bin/run").toFile().setExecutable(false, false));

        String[] values = {"bin/run", "644", "755"};
        JsonNode drift = assertDrift("wait", "INSTALL_DAMAGED", values);
        assertTrue(
                drift.path("message")
                        .asText()
                        .contains("; it was put back just before, so the workload may change it itself;"),
                drift::toString);
        told = homeostat.events().size();

        assertRepaired(web, "DRIFT_DETECTED", values);
    }

    @Test
    void whatTheWorkloadWritesBesideItsFilesIsNoDrift() throws IOException {
        homeostat.applied(web);
        Files.createDirectories(installed().resolve("bin/__pycache__"));
        Files.writeString(installed().resolve("run.pid"), "1");
        homeostat.applied(web).says("1 unchanged");
    }

    @Tag("nightly")
    @Test
    void anInstallationThatIsGone() throws IOException {
        homeostat.applied(web);
        Trees.delete(installed());
        assertDrift("reinstall", "INSTALL_MISSING");
        assertRepaired(web, "DRIFT_DETECTED");
    }

    @Test
    void aSymlinkThatWasMoved() throws IOException {
        homeostat.applied(web);
        Path link = homeostat.installs("processes").resolve("web");
        Files.delete(link);
        Files.createSymbolicLink(link, Path.of("web_2"));
        assertDrift("activate", "LINK_MOVED");
        JsonNode repaired = assertRepaired(web, "DRIFT_DETECTED");
        assertEquals(0, repaired.get("restarts").asInt());
    }

    @Tag("nightly")
    @Test
    void aLogThatWasDeleted() throws IOException {
        homeostat.applied(web);
        Path log = homeostat.instance().resolve("agent_state/processes/web/process.log");
        Files.delete(log);

        assertDrift("restart", "LOG_MISSING");

        JsonNode repaired = assertRepaired(web, "DRIFT_DETECTED");
        assertEquals("started\n", Files.readString(log));
        assertEquals(1, repaired.get("restarts").asInt());
    }

    @Tag("nightly")
    @Test
    void aSocketThatWasDeleted() throws IOException {
        Stored stored = bucket.put("greeter.tar.gz", Bucket.greeter());
        Document greeter =
                Document.greeter("greeter", "1", bucket.signedUrl(stored)).with("source.sha256", stored.sha256());
        homeostat.applied(greeter);
        Path socket = homeostat.runDir().resolve("plugin-connections/greeter_1.sock");
        Files.delete(socket);

        assertDrift("restart", "SOCKET_MISSING", "its socket was deleted, nobody can reach it");

        JsonNode repaired = assertRepaired(greeter, "DRIFT_DETECTED");
        assertTrue(Files.exists(socket));
        assertEquals(1, repaired.get("restarts").asInt());
    }

    @Test
    void aProcessThatIsNotWell() throws IOException {
        Document probed = probed("test ! -e " + broken(), 1).with("health.timeout", "30s");
        homeostat.applied(probed);
        Files.createFile(broken());
        homeostat.run("status").exits(1).says("/bin/sh").says("status 1");
        String[] values = {"/bin/sh", "status 1", "(1 of 1"};
        assertDrift("restart", "UNHEALTHY", values);
        assertRepaired(probed, "PLUGIN_CRASHED", values);
    }

    @Tag("nightly")
    @Test
    void aProcessThatHangs() throws IOException {
        Document probed = probed("test ! -e " + broken() + " || exec sleep 1000", 1);
        homeostat.applied(probed);
        Files.createFile(broken());
        homeostat.run("status").exits(1);
        assertDrift("restart", "HUNG", "");
        assertRepaired(probed, "PLUGIN_CRASHED", "(1 of 1 failed checks)");
    }

    @Tag("nightly")
    @Test
    void aProcessThatIsRestartedOnlyIfItStaysIll() throws IOException {
        assertRestartForetold("test ! -e " + broken(), "UNHEALTHY");
    }

    @Tag("nightly")
    @Test
    void aProcessThatIsRestartedOnlyIfItGoesOnHanging() throws IOException {
        assertRestartForetold("test ! -e " + broken() + " || exec sleep 1000", "HUNG");
    }

    @Test
    void argumentsThatChangedInTheDeclaration() {
        homeostat.applied(web);
        assertChange(web.arguments("-v"), "ARGUMENTS_CHANGED", "arguments changed");
    }

    @Tag("nightly")
    @Test
    void anEnvironmentThatChangedInTheDeclaration() {
        homeostat.applied(web);
        assertChange(web.with("env", Map.of("FOO", "bar")), "ENVIRONMENT_CHANGED", "environment changed");
    }

    @Tag("nightly")
    @Test
    void aUserThatChangedInTheDeclaration() {
        assumeTrue(Files.isWritable(Path.of("/")), "only root can start a process as another user");
        homeostat.applied(web);
        assertChange(web.with("user", "root"), "USER_CHANGED", "user changed");
    }

    private Document probed(String command, int failureThreshold) {
        return web.with("probe.exec.command", List.of("/bin/sh", "-c", command))
                .with("health", Map.of("interval", "1s", "timeout", "1s", "failureThreshold", failureThreshold));
    }

    /** While it exists the workload is not well; each start of it removes it. */
    private Path broken() {
        return homeostat.directory().resolve("broken");
    }

    /** Where the symlink leads to now. */
    private Path installed() throws IOException {
        return homeostat.installs("processes").resolve("web").toRealPath();
    }

    /**
     * What is planned.
     *
     * @param values that its message has
     */
    @CanIgnoreReturnValue
    private JsonNode assertDrift(String action, String reason, String... values) {
        JsonNode drift = homeostat.plan().at("/drift/0");
        assertEquals(action, drift.path("action").asText(), drift::toString);
        assertEquals(reason, drift.path("reason").asText());
        assertSays(drift, values);
        String id = drift.path("workload").asText();
        homeostat.run("plan", "--detailed-exitcode").exits(2);
        homeostat
                .run("status", id)
                .exits(1)
                .says("To do:      " + action)
                .says("(" + drift.path("message").asText() + ")");
        JsonNode condition = converged(id);
        assertEquals("False", condition.path("status").asText());
        assertEquals(reason.replace("_", ""), condition.path("reason").asText().toUpperCase(Locale.ROOT));
        assertSays(condition, values);
        assertSays(condition, kind(drift.path("message").asText()));
        return drift;
    }

    /** The beginning of a message, without what differs from one place to another. */
    private static String kind(String message) {
        return message.split("[;(]", 2)[0];
    }

    private static void assertSays(JsonNode told, String... values) {
        String message = told.path("message").asText();
        assertFalse(message.isEmpty(), told::toString);
        for (String value : values) {
            assertTrue(message.contains(value), () -> value + " in " + told);
        }
    }

    /**
     * Its status afterwards.
     *
     * @param values that the message of its one event has
     */
    @CanIgnoreReturnValue
    private JsonNode assertRepaired(Document workload, String event, String... values) {
        Path file = homeostat.file("desired.yaml", workload);
        String foretold =
                homeostat.plan("-f", file.toString()).at("/drift/0/message").asText();
        homeostat.applied(file).says("1 repaired").says("(" + foretold + ")");

        List<JsonNode> all = homeostat.events();
        List<JsonNode> fresh = all.subList(told, all.size());
        told = all.size();
        List<JsonNode> its = fresh.stream()
                .filter(one -> one.get("type").asText().equals(event))
                .toList();
        assertEquals(1, its.size(), () -> event + " in " + fresh);
        assertSays(its.getFirst(), values);
        assertSays(its.getFirst(), kind(foretold));
        assertTrue(homeostat.plan().at("/drift").isEmpty());
        JsonNode status = homeostat.status(workload.id());
        assertEquals("True", Homeostat.condition(status, "Converged"));
        assertEquals("True", Homeostat.condition(status, "Healthy"));
        assertEquals(1, homeostat.processes(workload.id()).size());
        boolean crash = event.equals("PLUGIN_CRASHED");
        assertEquals(
                crash,
                fresh.stream().anyMatch(one -> one.get("type").asText().equals("PLUGIN_CRASHED")),
                "a repair is no crash");
        return status;
    }

    /** Of what three checks have to fail for, on a machine where only {@code apply} looks more than once. */
    private void assertRestartForetold(String probe, String reason) throws IOException {
        Document probed = probed(probe, 3);
        homeostat.applied(probed);
        long pid = homeostat.process(ID);
        Files.createFile(broken());
        homeostat.run("status").exits(1);

        String foretold = " (1 of 3 failed checks); with homeostat apply it is restarted if 2 more fail";
        JsonNode drift = assertDrift("wait", reason);
        assertTrue(drift.path("message").asText().endsWith(foretold), drift::toString);
        assertEquals("[\"wait\",\"stop\",\"launch\"]", drift.path("steps").toString());
        homeostat.run("plan").exits(0).says(foretold + ")");

        homeostat
                .applied(probed)
                .says("restarted (")
                .says(" (3 of 3 failed checks))")
                .says("1 repaired");
        assertNotEquals(pid, homeostat.process(ID));
        assertTrue(homeostat.plan().at("/drift").isEmpty());
    }

    private void assertChange(Document changed, String reason, String message) {
        long pid = homeostat.process(ID);
        Path file = homeostat.file("changed.yaml", changed);
        JsonNode change = homeostat.plan("-f", file.toString()).at("/changes/0");
        assertEquals("restart", change.path("action").asText());
        assertEquals(reason, change.path("reason").asText());
        assertEquals(message, change.path("message").asText());
        int before = homeostat.events().size();

        homeostat.applied(changed).says("restarted (" + message + ")");

        assertNotEquals(pid, homeostat.process(ID));
        List<JsonNode> fresh = homeostat.events().stream().skip(before).toList();
        List<String> types =
                fresh.stream().map(event -> event.get("type").asText()).toList();
        assertTrue(types.contains("PLUGIN_CONFIG_INSTALL"), types::toString);
        assertFalse(types.contains("PLUGIN_CRASHED"), types::toString);
        assertTrue(
                fresh.stream()
                        .anyMatch(event -> event.get("type").asText().equals("PLUGIN_STOPPED")
                                && event.get("message").asText().startsWith(message + "; ")),
                fresh::toString);
    }

    private JsonNode converged(String id) {
        return StreamSupport.stream(homeostat.status(id).get("conditions").spliterator(), false)
                .filter(condition -> condition.get("type").asText().equals("Converged"))
                .findFirst()
                .orElseThrow();
    }
}
