package io.homeostat.e2e;

import static io.homeostat.e2e.Patience.eventually;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.homeostat.e2e.Bucket.Stored;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A revision is not given up before its successor has proved itself. */
final class FailedUpgradeTest {
    @RegisterExtension
    final Homeostat homeostat = new Homeostat();

    @RegisterExtension
    final Bucket bucket = new Bucket();

    @ParameterizedTest
    @CsvSource({
        "never-listen, 2 s, socket",
        "exit-at-once, 30s, status 3",
        "start-error, 30s, refuse Start",
    })
    void aRevisionThatDoesNotStartIsUndone(String fault, String timeout, String why) {
        Stored archive = bucket.put("greeter.tar.gz", Bucket.greeter());
        Document old = greeter("1", archive).config("before");
        homeostat.applied(old);
        long before = homeostat.pid("plugin/greeter");
        Document bad = greeter("2", archive)
                .config("before")
                .arguments("--fault=" + fault)
                .with("start.timeout", timeout.replace(" ", ""))
                .with("start.attempts", 2);

        homeostat.apply(bad).exits(1).says("plugin/greeter").says(why);

        JsonNode status = homeostat.status("plugin/greeter");
        assertEquals("RUNNING", status.get("state").asText());
        assertEquals("1", status.get("currentRevision").asText());
        assertEquals("2", status.get("desiredRevision").asText());
        assertEquals("2", status.get("pendingRevision").asText());
        assertTrue(status.get("pendingError").asText().contains(why), status::toString);
        assertEquals("True", Homeostat.condition(status, "RolledBack"));
        assertEquals("True", Homeostat.condition(status, "Healthy"));
        assertEquals("greeting: before", status.at("/health/results/0").asText());
        assertEquals(1, homeostat.processes("plugin/greeter").size());
        assertFalse(Processes.isAlive(before));
        homeostat.run("status").exits(1);
    }

    /** Of what runs in the place of a failed revision plan, status, events and results speak under its own revision. */
    @Tag("nightly")
    @Test
    void whatRunsInsteadIsRepairedAndRestartedUnderItsOwnRevision() throws IOException {
        Document good = script("1", "exec sleep 1000").with("start.attempts", 1);
        Document bad = script("2", "exit 3").with("start.attempts", 1);
        homeostat.applied(good);
        homeostat.apply(bad).exits(1);
        Path program =
                homeostat.installs("processes").resolve("web").toRealPath().resolve("bin/run");
        Files.writeString(program, "exit 1\n");

        homeostat.run("status", "process/web").says("To do:      reinstall 1 (").says("bin/run");
        JsonNode drift = homeostat.plan().at("/drift/0");
        assertEquals("reinstall", drift.path("action").asText(), drift::toString);
        assertEquals("1", drift.at("/after/revision").asText(), drift::toString);
        homeostat
                .apply(bad)
                .exits(1)
                .says("revision 2 ")
                .says(" 1 runs ")
                .says("; what runs was repaired: ")
                .says("bin/run");
        assertTrue(homeostat.events("process/web").contains("DRIFT_DETECTED 1"));
        assertFalse(homeostat.events("process/web").contains("DRIFT_DETECTED 2"));

        long pid = homeostat.pid("process/web");
        homeostat.run("restart", "process/web").exits(0).says("process/web  restarted (a restart was asked for");
        assertNotEquals(pid, homeostat.pid("process/web"));
        assertEquals("RUNNING 1", homeostat.state("process/web"));
    }

    @Tag("nightly")
    @Test
    void aRestartThatHasARevisionUndoneHasFailed() {
        homeostat.applied(script("1", "exec sleep 1000"));
        Document slow = script("2", "exec sleep 1000")
                .with("probe.tcp.address", "127.0.0.1:1")
                .with("start", Map.of("timeout", "20s", "attempts", 1));
        Command apply =
                homeostat.start("apply", "-f", homeostat.file("2.yaml", slow).toString());
        eventually().until(() -> homeostat.state("process/web"), "STARTING 2"::equals);
        apply.kill();

        homeostat.run("restart", "process/web").exits(1).says("revision 2 ").says(" 1 runs ");
    }

    @Tag("nightly")
    @Test
    void whatAnotherDeclarationOvertakesWasNotStartedByTheQuestionsOfThat() {
        homeostat.applied(script("1", "exec sleep 1000"));
        Document never = script("2", "exec sleep 1000")
                .with("probe.tcp.address", "127.0.0.1:1")
                .with("start.timeout", "1h");
        Command apply =
                homeostat.start("apply", "-f", homeostat.file("2.yaml", never).toString());
        eventually().until(() -> homeostat.state("process/web"), "STARTING 2"::equals);
        apply.kill();

        homeostat.applied(script("3", "exec sleep 1000"));

        List<String> events = homeostat.events("process/web");
        assertTrue(events.contains("STARTED 3"), events::toString);
        assertFalse(events.contains("STARTED 2"), events::toString);
    }

    private Document script(String revision, String script) {
        Stored archive = bucket.put("web-" + revision + ".tar.gz", TarGz.ofScript(script));
        return Document.process("web")
                .with("revision", revision)
                .with("entryPoint", "bin/run")
                .with("source.url", bucket.signedUrl(archive))
                .with("source.sha256", archive.sha256());
    }

    @Test
    void whatWasUndoneIsNotTriedAgainUntilItsDeclarationChanges() {
        Stored archive = bucket.put("greeter.tar.gz", Bucket.greeter());
        homeostat.applied(greeter("1", archive));
        Document bad = greeter("2", archive).arguments("--fault=exit-at-once").with("start.attempts", 1);
        homeostat.apply(bad).exits(1);
        long held = homeostat.pid("plugin/greeter");
        List<String> events = homeostat.events("plugin/greeter");
        assertTrue(events.contains("AGENT_ROLLED_BACK 2"), events::toString);

        homeostat.apply(bad).exits(1).says(" 1 runs ");

        assertEquals(held, homeostat.pid("plugin/greeter"));
        assertEquals(events, homeostat.events("plugin/greeter"));
        homeostat
                .run("plan")
                .exits(0)
                .says("1 waiting")
                .says("homeostat resume plugin/greeter has the next homeostat apply");

        homeostat.run("resume", "plugin/greeter").exits(0).says("what was undone of plugin/greeter is tried again");
        homeostat.apply(bad).exits(1);
        assertNotEquals(events, homeostat.events("plugin/greeter"));

        homeostat.apply(bad.arguments()).exits(0).says("upgraded 1 -> 2");

        JsonNode status = homeostat.status("plugin/greeter");
        assertEquals("2", status.get("currentRevision").asText());
        assertTrue(status.get("pendingRevision").isNull());
        assertEquals("False", Homeostat.condition(status, "RolledBack"));
    }

    @Test
    void theLogOfTheFailedRevisionIsKept() {
        Stored archive = bucket.put("greeter.tar.gz", Bucket.greeter());
        homeostat.applied(greeter("1", archive));

        homeostat
                .apply(greeter("2", archive).arguments("--fault=exit-at-once").with("start.attempts", 1))
                .exits(1);

        homeostat.run("logs", "plugin/greeter").exits(0).says("told to exit");
        assertTrue(
                homeostat.events().stream()
                        .anyMatch(event -> event.get("type").asText().equals("PLUGIN_START_FAILED")
                                && event.get("message").asText().contains("told to exit")),
                "the event carries the last lines of the log");
    }

    @Tag("nightly")
    @Test
    void anUpgradeWhoseArchiveCanNotBeFetchedLeavesTheOldRevisionAlone() {
        Stored archive = bucket.put("greeter.tar.gz", Bucket.greeter());
        Stored expired = bucket.put("next.tar.gz", TarGz.repacked(Bucket.greeter(), 7));
        homeostat.keepsSecret(expired.signature());
        homeostat.applied(greeter("1", archive));
        long before = homeostat.pid("plugin/greeter");
        bucket.expire(expired);

        homeostat.apply(greeter("2", expired)).exits(1).says("expired");

        JsonNode status = homeostat.status("plugin/greeter");
        assertEquals(before, status.get("pid").asLong());
        assertEquals("1", status.get("currentRevision").asText());
        assertEquals("2", status.get("pendingRevision").asText());
        assertEquals(1, bucket.requests(expired), "an expired URL is not asked for again");
        assertEquals(
                List.of("CONFIG_INSTALL 2", "INSTALL_FAILED 2"),
                homeostat.events("plugin/greeter").subList(3, 5));
    }

    @Tag("nightly")
    @Test
    void aFirstRevisionThatDoesNotStartIsReportedAndLeavesNoProcess() {
        Stored archive = bucket.put("greeter.tar.gz", Bucket.greeter());

        homeostat
                .apply(greeter("1", archive).arguments("--fault=start-error").with("start.attempts", 1))
                .exits(1)
                .says("refuse Start");

        assertEquals(
                "INSTALL_FAILED",
                homeostat.status("plugin/greeter").get("state").asText());
        assertEquals(List.of(), homeostat.processes("plugin/greeter"));
        assertEquals(
                List.of("CONFIG_INSTALL 1", "START_FAILED 1", "INSTALL_FAILED 1"), homeostat.events("plugin/greeter"));
    }

    @Test
    void aProcessThatIsNeverHealthyIsUndoneToo() {
        Document good = Document.script("web", "exec sleep 1000");
        homeostat.applied(good);

        homeostat
                .apply(good.arguments("-c", "exec sleep 1001")
                        .with("revision", "2")
                        .with("probe.exec.command", new String[] {"/bin/false"})
                        .with("start.timeout", "1s")
                        .with("start.attempts", 1))
                .exits(1);

        JsonNode status = homeostat.status("process/web");
        assertEquals("RUNNING", status.get("state").asText());
        assertEquals("True", Homeostat.condition(status, "RolledBack"));
        assertEquals("sleep 1000", Processes.command(status.get("pid").asLong()).strip());
    }

    private Document greeter(String revision, Stored archive) {
        return Document.greeter("greeter", revision, bucket.signedUrl(archive)).with("source.sha256", archive.sha256());
    }
}
