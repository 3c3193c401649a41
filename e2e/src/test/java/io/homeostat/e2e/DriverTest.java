package io.homeostat.e2e;

import static io.homeostat.e2e.Patience.eventually;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** Task drivers: how they come, fail, crash and go, and that the tasks which they run notice nothing of it. */
final class DriverTest {
    private static final String DRIVER = "driver/runner";
    private static final String TASK = "task/web";

    @TempDir
    static Path directory;

    private static SampleDriver sample;

    @RegisterExtension
    final Homeostat homeostat = new Homeostat();

    @BeforeAll
    static void unpack() {
        sample = SampleDriver.in(directory);
    }

    @Test
    void aDriverComesFromItsArchiveAndSaysWhatItCanDo() {
        homeostat.applied(SampleDriver.document("runner", "1", SampleProgram.RUNNER.archive())
                .with("config.greeting", "hello"));

        JsonNode status = homeostat.status(DRIVER);
        assertEquals("RUNNING 1", homeostat.state(DRIVER));
        assertEquals(0, status.at("/health/code").asInt(), status::toString);
        assertEquals("True", Homeostat.condition(status, "Healthy"), status::toString);
        assertEquals(List.of("CONFIG_INSTALL 1", "STARTED 1", "INSTALLED 1"), homeostat.events(DRIVER));
        homeostat.run("describe", DRIVER).exits(0).says("runner").doesNotSay("hello");
        homeostat.run("plan", "--detailed-exitcode").exits(0);
    }

    @Test
    void aConfigurationThatItsSchemaRefusesIsToldByItsKeyAndNothingRuns() {
        homeostat
                .apply(sample.local("runner", "1").with("config.enbled", true).with("start.attempts", 1))
                .exits(1)
                .says("spec.config.enbled");

        assertEquals(List.of(), homeostat.processes(DRIVER));
        assertEquals("False", Homeostat.condition(homeostat.status(DRIVER), "Converged"));
    }

    @Tag("nightly")
    @Test
    void whatIsNoDriverIsToldWithTheReason() {
        Result applied = homeostat.apply(
                Document.driver("shell")
                        .with("install", "local")
                        .with("entryPoint", "/bin/sh")
                        .with("arguments", List.of("-c", "echo hello; exec sleep 1000"))
                        .with("start.attempts", 1),
                faulty("netrpc"),
                faulty("wrong-protocol"),
                faulty("exit-before-handshake"),
                faulty("no-handshake").with("start.timeout", "4s"));

        applied.exits(1);
        Map.of(
                        "shell", "\"hello\"",
                        "netrpc", "net/rpc",
                        "wrong-protocol", "version \"9\"",
                        "exit-before-handshake", "status 3; ",
                        "no-handshake", "handshake")
                .forEach((name, reason) -> {
                    String line = applied.lineOf("driver/" + name);
                    assertTrue(line.contains(reason), line);
                    assertEquals(List.of(), homeostat.processes("driver/" + name));
                });
    }

    private static Document faulty(String fault) {
        return sample.local(fault, "1").arguments("--fault=" + fault).with("start.attempts", 1);
    }

    @Tag("nightly")
    @Test
    void aDriverThatCanNotRunTasksNowIsShownAndLeftAlone() {
        Document ill = sample.local("ill", "1").arguments("--fault=unhealthy");
        Document without = sample.local("without", "1").arguments("--fault=undetected");
        homeostat
                .apply(
                        ill,
                        without,
                        Document.task("web", "ill", "exec sleep 1000").with("start.attempts", 1))
                .exits(1)
                .says("its driver ill can't run tasks, it is unhealthy: told to be unhealthy");
        long pid = homeostat.pid("driver/ill");

        homeostat.run("describe", "driver/ill").exits(0).says("told to be unhealthy");
        homeostat.run("describe", "driver/without").exits(0).says("told to be undetected");
        homeostat.run("status", "driver/ill").exits(1);
        // As often as an ill process would be looked at before it is restarted.
        for (int look = 0; look < 4; look++) {
            homeostat.apply(ill, without);
        }

        assertEquals(pid, homeostat.pid("driver/ill"));
        JsonNode status = homeostat.status("driver/ill");
        assertEquals("False", Homeostat.condition(status, "Healthy"), status::toString);
        assertEquals(0, status.get("restarts").asInt());
    }

    @Test
    void aDriverThatCrashesIsLaunchedAgainAndItsTasksGoOn() {
        homeostat.declare("all.yaml", sample.local("runner", "1"), Document.task("web", "runner", "exec sleep 1000"));
        homeostat.agent();
        homeostat.awaitRunning(TASK);
        long task = homeostat.process(TASK);

        homeostat.awaitAnother(DRIVER, homeostat.kill(DRIVER));

        homeostat.awaitRunning(DRIVER);
        homeostat.awaitRunning(TASK);
        assertEquals(task, homeostat.process(TASK));
        assertEquals(0, homeostat.status(TASK).get("restarts").asInt());
        assertEquals(1, homeostat.status(DRIVER).get("restarts").asInt());
        // It is not only believed to run: its end is noticed.
        Processes.kill(task);
        homeostat.awaitAnother(TASK, task);
    }

    @Tag("nightly")
    @Test
    void driverAndTaskOutliveAKilledAgentAndAreTakenOverByTheNext() {
        homeostat.declare("all.yaml", sample.local("runner", "1"), Document.task("web", "runner", "exec sleep 1000"));
        AgentProcess first = homeostat.agentProcess();
        homeostat.awaitRunning(TASK);
        long driver = homeostat.pid(DRIVER);
        long task = homeostat.process(TASK);
        first.kill();

        homeostat.agent();

        homeostat.awaitRunning(TASK);
        homeostat.awaitRunning(DRIVER);
        assertEquals(driver, homeostat.pid(DRIVER));
        assertEquals(task, homeostat.process(TASK));
        assertEquals(0, homeostat.status(DRIVER).get("restarts").asInt());
        assertEquals(0, homeostat.status(TASK).get("restarts").asInt());
        Processes.kill(task);
        homeostat.awaitAnother(TASK, task);
        assertEquals(driver, homeostat.pid(DRIVER));
    }

    @Test
    void tasksRunOnThroughAnUpgradeOfTheirDriver() {
        Document web = Document.task("web", "runner", "exec sleep 1000");
        homeostat.applied(sample.local("runner", "1"), web);
        long task = homeostat.process(TASK);
        long driver = homeostat.pid(DRIVER);

        homeostat.applied(sample.local("runner", "2"), web);

        assertEquals("RUNNING 2", homeostat.state(DRIVER));
        assertNotEquals(driver, homeostat.pid(DRIVER));
        assertEquals(task, homeostat.process(TASK));
        assertEquals(0, homeostat.status(TASK).get("restarts").asInt());
        homeostat.run("plan", "--detailed-exitcode").exits(0);
    }

    @Tag("nightly")
    @Test
    void aRevisionOfADriverThatCanNotTakeUpItsTasksIsUndone() {
        Document web = Document.task("web", "runner", "exec sleep 1000");
        homeostat.applied(sample.local("runner", "1"), web);
        long task = homeostat.process(TASK);

        homeostat
                .apply(
                        sample.local("runner", "2")
                                .arguments("--fault=recover-error")
                                .with("start.attempts", 1),
                        web)
                .exits(1)
                .says(TASK);

        assertEquals("RUNNING 1", homeostat.state(DRIVER));
        JsonNode status = homeostat.status(DRIVER);
        assertEquals("True", Homeostat.condition(status, "RolledBack"), status::toString);
        assertEquals("2", status.get("pendingRevision").asText());
        assertEquals(task, homeostat.process(TASK));
        homeostat.run("status", TASK).exits(0);
        assertEquals(0, homeostat.status(TASK).get("restarts").asInt());
    }

    @Tag("nightly")
    @Test
    void ofADeletedDriverAndItsTaskNothingIsLeft() {
        homeostat.applied(
                SampleDriver.document("runner", "1", SampleProgram.RUNNER.light()),
                Document.task("web", "runner", "sleep 1000 & setsid sleep 1000 & exec sleep 1000"));
        Path task = homeostat.allocation("web");
        List<Path> groups = ControlGroups.ofTask(task);
        Path sockets = homeostat.runDir().resolve("driver-connections/runner");
        assertTrue(Files.isDirectory(sockets));

        homeostat.run("delete", TASK, DRIVER).exits(0);

        assertEquals(List.of(), homeostat.everyProcess());
        assertEquals(List.of(), ControlGroups.ofTask(task), groups::toString);
        assertEquals(
                Set.of(""),
                Trees.listing(homeostat.instance().resolve("allocations")).keySet());
        assertFalse(Files.exists(sockets));
    }

    @Tag("nightly")
    @Test
    void aDriverIsDescribedWithWhatItSaysOfItselfAndItsTasks() {
        homeostat.declare("all.yaml", sample.local("runner", "1"), Document.task("web", "runner", "exec sleep 1000"));
        Agent agent = homeostat.agent();
        homeostat.awaitRunning(TASK);

        checkDescription();
        Result _ = agent.terminate();
        checkDescription();

        Processes.kill(homeostat.pid(DRIVER));
        String problem = eventually()
                .until(
                        () -> homeostat
                                .run("describe", DRIVER, "-o", "json")
                                .exits(0)
                                .json()
                                .at("/driver/problem")
                                .asText(),
                        words -> words.contains("runner"));
        homeostat.run("describe", DRIVER).says(problem);
    }

    private void checkDescription() {
        homeostat
                .run("describe", DRIVER)
                .exits(0)
                .says("  plugin       runner 0.1.0, API v0.1.0\n  health       healthy: Healthy, said at 20")
                .says(
                        "  signals      sent to tasks\n  commands     run inside tasks\n  file system  that of the host\n")
                .says("Fingerprint:\n  driver.runner          1\n  driver.runner.version  0.1.0\n")
                .says("Tasks:\n  task/web\n");
        JsonNode json = homeostat.run("describe", DRIVER, "-o", "json").exits(0).json();
        JsonNode own = json.get("driver");
        assertEquals(
                "{\"name\":\"runner\",\"version\":\"0.1.0\",\"apiVersion\":\"v0.1.0\"}",
                own.get("plugin").toString());
        assertEquals("healthy", own.at("/health/state").asText(), own::toString);
        assertTrue(own.at("/capabilities/exec").asBoolean(), own::toString);
        assertEquals("none", own.at("/capabilities/fileSystem").asText(), own::toString);
        assertEquals(
                "[{\"name\":\"driver.runner\",\"value\":\"1\",\"unit\":\"\"},"
                        + "{\"name\":\"driver.runner.version\",\"value\":\"0.1.0\",\"unit\":\"\"}]",
                own.get("attributes").toString());
        assertEquals("[\"task/web\"]", json.get("children").toString());
        assertFalse(homeostat.run("describe", TASK, "-o", "json").json().has("driver"));
    }

    @Tag("nightly")
    @Test
    void whoAnswersInADriversPlaceIsNotTakenForIt() throws IOException {
        homeostat.declare("all.yaml", sample.local("runner", "1"), Document.task("web", "runner", "exec sleep 1000"));
        AgentProcess first = homeostat.agentProcess();
        homeostat.awaitRunning(TASK);
        long driver = homeostat.pid(DRIVER);
        long task = homeostat.process(TASK);
        first.kill();
        Path note;
        try (Stream<Path> files = Files.walk(homeostat.instance())) {
            note = files.filter(file -> file.endsWith("plugin-name"))
                    .findFirst()
                    .orElseThrow();
        }
        assertEquals("runner", Files.readString(note));
        Files.writeString(note, "another");

        homeostat.agent();

        homeostat.awaitAnother(DRIVER, driver);
        homeostat.awaitRunning(TASK);
        assertEquals(task, homeostat.process(TASK));
    }
}
