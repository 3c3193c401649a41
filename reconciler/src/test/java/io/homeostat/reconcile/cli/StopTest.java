package io.homeostat.reconcile.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.reconcile.cli.Shell.Result;
import io.homeostat.reconcile.runtime.timer.TimerKind;
import io.homeostat.reconcile.runtime.timer.Timers;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Stopping and starting, with real processes that sleep. */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class StopTest {
    private static final WorkloadId A = WorkloadId.process("a");
    private static final WorkloadId B = WorkloadId.process("b");
    private static final ObjectMapper JSON = new ObjectMapper();

    @TempDir
    Path directory;

    private Shell shell;

    @BeforeEach
    void applyTwo() throws IOException {
        shell = new Shell(directory);
        shell.write("ab.yaml", Shell.sleeper("a", 600) + Shell.sleeper("b", 600));
        assertEquals(0, apply().status());
    }

    @AfterEach
    void leaveNothingBehind() {
        shell.close();
    }

    @Test
    void whatIsStoppedStaysSoUntilItIsStarted() throws IOException {
        long a = shell.pid(A);
        long b = shell.pid(B);

        Result stopped = shell.run("stop", "process/a", "--reason", "a look by hand");

        assertEquals(0, stopped.status(), stopped.out() + stopped.err());
        assertTrue(stopped.out().startsWith("process/a  stopped (stopped by request since "), stopped.out());
        assertFalse(ProcessHandle.of(a).isPresent());
        assertEquals(b, shell.pid(B));

        Result applied = apply();
        assertEquals(1, applied.status());
        assertTrue(applied.out().contains("process/a  waiting: stopped by request since "), applied.out());
        assertTrue(applied.out().contains("; homeostat start process/a ends that"), applied.out());
        JsonNode status = JSON.readTree(
                        shell.run("status", "process/a", "-o", "json").out())
                .at("/workloads/0");
        assertEquals("STOPPED", status.get("state").asText());
        assertEquals("STOPPED", status.at("/lastExit/reason").asText());
        assertTrue(status.toString().contains("\"reason\":\"StoppedByUser\",\"message\":\"a look by hand\""));
        assertTrue(shell.run("plan").out().contains("  . process/a"));

        Result started = shell.run("start", "process/a");

        assertEquals(0, started.status(), started.out() + started.err());
        assertNotEquals(a, shell.pid(A));
        assertEquals(b, shell.pid(B));
        assertEquals(0, shell.run("status").status());
    }

    @Test
    void stoppingWhatDoesNotRunSaysSoAndKeepsItThatWay() throws Exception {
        ProcessHandle process = ProcessHandle.of(shell.pid(A)).orElseThrow();
        process.destroyForcibly();
        process.onExit().get(10, TimeUnit.SECONDS);

        Result stopped = shell.run("stop", "process/a");

        assertEquals(0, stopped.status(), stopped.out());
        assertTrue(stopped.err().contains("process/a was not running; it stays so until"), stopped.err());
        apply();
        assertTrue(shell.run("status", "process/a").out().contains("STOPPED"));
    }

    @Test
    void whatIsNoProcessIsAskedForInItsOwnWay() throws IOException {
        shell.write("tick.yaml", """
                apiVersion: homeostat.io/v1
                kind: Timer
                metadata: {name: tick}
                spec: {revision: '1', interval: 5s}
                """);
        WorkloadId tick = new WorkloadId(TimerKind.TIMER, "tick");
        assertEquals(0, shell.run("apply", "-f", directory + "/tick.yaml").status());
        assertEquals("", shell.run("stop", "timer/tick").err());
        assertEquals(0, shell.run("start", "timer/tick").status());
        String launchId = shell.instances().stream()
                .filter(instance -> instance.workload().equals(tick))
                .findFirst()
                .orElseThrow()
                .launchId();

        Timers.of(shell.layout().stateDir()).end(launchId);

        String told = shell.run("stop", "timer/tick").err();
        assertTrue(told.contains("timer/tick was not running; it stays so until"), told);
    }

    @Test
    void whatIsStoppedAndDeletedIsRemoved() {
        shell.run("stop", "process/a");

        Result deleted = shell.run("delete", "process/a");

        assertEquals(0, deleted.status(), deleted.out());
        assertTrue(deleted.out().contains("process/a  removed"), deleted.out());
    }

    @Test
    void whatIsDeclaredAnewAfterItsDeletionStarts() {
        shell.run("stop", "process/a");
        assertEquals(0, shell.run("delete", "process/a").status());

        Result anew = apply();

        assertEquals(0, anew.status(), anew.out());
        assertTrue(anew.out().contains("process/a  installed"), anew.out());
        assertTrue(shell.run("events", "--for", "process/a").out().contains("resumed: no longer declared"));
    }

    @Test
    void pruningEndsAStopToo() throws IOException {
        shell.run("stop", "process/a");
        shell.write("ab.yaml", Shell.sleeper("b", 600));
        assertEquals(
                0, shell.run("apply", "-f", directory + "/ab.yaml", "--prune").status());

        shell.write("ab.yaml", Shell.sleeper("a", 600) + Shell.sleeper("b", 600));

        assertEquals(0, apply().status());
    }

    @Test
    void resumingStartsItWithTheNextApply() {
        shell.run("stop", "process/a");

        Result resumed = shell.run("resume", "process/a");

        assertEquals("process/a is no longer held back\n", resumed.out());
        assertEquals(0, apply().status());
    }

    @Test
    void whatNobodyKnowsCanNeitherBeStoppedNorStarted() {
        for (String verb : new String[] {"stop", "start"}) {
            Result result = shell.run(verb, "process/c");
            assertEquals(1, result.status());
            assertTrue(result.err().contains("process/c is neither declared nor on this machine"), result.err());
        }
    }

    @Test
    void anAgentDoesItForWhoeverAsks() {
        try (TestAgent agent = TestAgent.start(shell)) {
            assertEquals(0, shell.run("stop", "process/a", "process/b").status());
            assertEquals(0, shell.run("start", "process/a", "process/b").status());
            assertEquals(2, agent.calls());
        }
        assertEquals(0, shell.run("status").status());
    }

    private Result apply() {
        return shell.run("apply", "-f", directory + "/ab.yaml");
    }
}
