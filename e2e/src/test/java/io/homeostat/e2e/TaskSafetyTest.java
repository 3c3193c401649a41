package io.homeostat.e2e;

import static io.homeostat.e2e.Patience.eventually;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** What goes wrong with drivers, and what becomes of their tasks: never two of one, never a wrong word about one. */
@Tag("nightly")
final class TaskSafetyTest {
    private static final String DRIVER = "driver/runner";
    private static final String WEB = "task/web";

    @TempDir
    static Path directory;

    private static SampleDriver sample;

    @RegisterExtension
    final Homeostat homeostat = new Homeostat();

    @BeforeAll
    static void unpack() {
        sample = SampleDriver.in(directory);
    }

    private static Document runner() {
        return sample.local("runner", "1");
    }

    private static Document web(String script) {
        return Document.task("web", "runner", script);
    }

    @Test
    void aTaskWhoseDriverIsWithdrawnRunsOnAndIsNotSaidToBeAsDeclared() {
        Document web = web("exec sleep 1000");
        homeostat.applied(runner(), web);
        long pid = homeostat.process(WEB);

        homeostat.run("delete", DRIVER).exits(0).says("task/web depends on driver/runner");

        homeostat.run("status").exits(1);
        JsonNode status = homeostat.status(WEB);
        assertEquals("RUNNING", status.get("state").asText());
        assertEquals("False", Homeostat.condition(status, "Converged"), status::toString);
        homeostat.run("status", WEB).exits(1).says("driver/runner ").says("nobody");
        assertEquals("wait WAITING_FOR_DEPENDENCY", homeostat.planned(WEB));
        assertEquals(pid, homeostat.process(WEB));

        homeostat.applied(runner(), web);
        assertEquals(pid, homeostat.process(WEB));
        homeostat.run("status").exits(0);
    }

    @Test
    void aTaskInNoneOfOurGroupsIsNotStartedTwiceWhenItsDriverIsWithdrawn() {
        Document web = web("exec sleep 1000").with("config.faults", List.of("no-groups"));
        homeostat.applied(runner(), web);
        long pid = homeostat.process(WEB);
        homeostat.run("delete", DRIVER).exits(0);
        // Nobody can see it now.
        homeostat.run("status", WEB).exits(1);
        assertEquals(pid, homeostat.process(WEB));

        homeostat.applied(runner(), web);

        assertEquals(pid, homeostat.process(WEB));
        assertEquals(0, homeostat.status(WEB).get("restarts").asInt());
        homeostat.run("status").exits(0);
    }

    @Test
    void aTaskWhoseDriverIsTakenOutOfItsFileSaysSoSoon() {
        Path file = homeostat.declare("driver.yaml", runner());
        homeostat.declare("web.yaml", web("exec sleep 1000"));
        homeostat.agent();
        homeostat.awaitRunning(WEB);
        long pid = homeostat.process(WEB);

        assertTrue(file.toFile().delete());

        eventually().until(() -> homeostat.run("status", WEB).out().contains("nobody"));
        assertEquals(pid, homeostat.process(WEB));
        assertEquals("False", Homeostat.condition(homeostat.status(WEB), "Converged"));
    }

    @Test
    void aTaskOfADriverThatNobodyDeclaresIsRefusedWithItsName() {
        Path file = homeostat.file("web.yaml", web("exec sleep 1000"));

        homeostat
                .run("validate", "-f", file.toString())
                .exits(0)
                .says("task/web is part of driver/runner")
                .says("not declared");
        assertTrue(homeostat.apply(file).exits(1).lineOf(WEB).contains("driver/runner "));
        assertEquals(List.of(), homeostat.processes(WEB));
        assertFalse(homeostat.status(WEB).get("state").asText().equals("RUNNING"));
    }

    @Test
    void aDriverThatFailsOneStartAfterTheOtherSaysSoInItsOwnWordsAndWhatRunsGoesOn() {
        Document web = web("exec sleep 1000");
        homeostat.applied(runner(), web);
        long pid = homeostat.process(WEB);
        Document[] two = {runner(), web, failing("a"), failing("b")};
        homeostat.apply(two).exits(1);
        homeostat.run("status", DRIVER).exits(0);

        homeostat.apply(runner(), web, failing("a"), failing("b"), failing("c")).exits(1);

        JsonNode status = homeostat.status(DRIVER);
        assertEquals(4, status.at("/health/code").asInt(), status::toString);
        assertTrue(status.at("/health/results/0").asText().contains("UNKNOWN: told to refuse"), status::toString);
        assertEquals("False", Homeostat.condition(status, "Healthy"), status::toString);
        assertEquals("RUNNING 1", homeostat.state(DRIVER));
        homeostat.run("describe", DRIVER).says("the last 3 starts of its tasks have failed");
        assertEquals(pid, homeostat.process(WEB));

        homeostat.apply(runner(), web, failing("a"), Document.task("other", "runner", "exec sleep 1000"));
        homeostat.run("status", "task/other").exits(0);
        homeostat.run("status", DRIVER).exits(0);
        assertEquals(pid, homeostat.process(WEB));
    }

    @Test
    void ofTasksThatAreDeletedNothingIsHeldAgainstTheirDriver() {
        homeostat.apply(runner(), failing("a"), failing("b"), failing("c")).exits(1);
        homeostat.run("status", DRIVER).exits(1);

        homeostat.run("delete", "task/a", "task/b", "task/c").exits(0);

        homeostat.run("status", DRIVER).exits(0);
    }

    private static Document failing(String name) {
        return Document.task(name, "runner", "exec sleep 1000")
                .with("config.faults", List.of("start-error"))
                .with("start.attempts", 1);
    }

    @Test
    void whatADriverStartsAfterItsAgentWasKilledIsNoSecondCopy() {
        homeostat.declare("driver.yaml", runner());
        AgentProcess first = homeostat.agentProcess();
        homeostat.awaitRunning(DRIVER);
        // Where output is the driver's own business, nothing that we have removed keeps it from starting the task.
        homeostat.declare(
                "web.yaml",
                web("exec sleep 1000")
                        .with("config.faults", List.of("slow-start=30000", "own-output"))
                        .with("start.timeout", "1s")
                        .with("start.attempts", 1));
        eventually()
                .until(() -> homeostat.events().stream()
                        .anyMatch(event -> event.get("message").asText().contains(" 1000 ms")));
        first.kill();
        homeostat.declare("web.yaml", web("exec sleep 2000"));
        Agent second = homeostat.agent();
        homeostat.awaitRunning(WEB);
        long pid = homeostat.process(WEB);

        second.awaitSaying("this copy is removed");

        eventually().until(() -> homeostat.processes(WEB).size() == 1);
        assertEquals(pid, homeostat.process(WEB));
        homeostat.run("status", WEB).exits(0);
        assertEquals(0, homeostat.status(WEB).get("restarts").asInt());
    }

    @Test
    void whatIsStartedWhileNoAgentIsThereIsEndedAndStartedAgain() {
        homeostat.declare("driver.yaml", runner());
        AgentProcess first = homeostat.agentProcess();
        homeostat.awaitRunning(DRIVER);
        homeostat.declare("web.yaml", web("exec sleep 1000").with("config.faults", List.of("slow-start=2000")));
        eventually().until(() -> homeostat.run("logs", DRIVER).out().contains("\"StartTask\""));
        first.kill();
        eventually().until(() -> !homeostat.processes(WEB).isEmpty());
        long early = homeostat.process(WEB);

        homeostat.agent();

        homeostat.awaitAnother(WEB, early);
        homeostat.awaitRunning(WEB);
    }

    @Test
    void whatEndedBeforeALostDatabaseIsNotTakenUpAgainAndGoesWithTheNextLaunch() throws IOException {
        homeostat.declare("all.yaml", runner(), web("exec sleep 1000"));
        AgentProcess first = homeostat.agentProcess();
        homeostat.awaitRunning(WEB);
        homeostat.run("pause", WEB, "--reason", "a look at what is left").exits(0);
        Processes.kill(homeostat.process(WEB));
        eventually().until(() -> homeostat.status(WEB).get("state").asText().equals("CRASHED"));
        long driver = homeostat.pid(DRIVER);
        Path launch = only(homeostat.instance().resolve("launches/tasks/web"));
        // It can't be told to forget the task.
        Processes.signal("STOP", driver);
        homeostat.run("resume", WEB).exits(0);
        eventually().until(() -> Files.exists(launch.resolve("ended")));
        first.kill();
        for (String name : List.of("homeostat.db", "homeostat.db-wal", "homeostat.db-shm")) {
            Files.deleteIfExists(homeostat.stateDir().resolve(name));
        }
        Processes.kill(driver);

        homeostat.agent();

        homeostat.awaitRunning(WEB);
        assertEquals(1, homeostat.processes(WEB).size());
        assertFalse(Files.exists(launch));
        assertFalse(homeostat.run("logs", DRIVER).out().contains("\"RecoverTask\""));
    }

    private static Path only(Path directory) throws IOException {
        try (Stream<Path> entries = Files.list(directory)) {
            return entries.findFirst().orElseThrow();
        }
    }
}
