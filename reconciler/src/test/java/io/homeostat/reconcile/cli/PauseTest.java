package io.homeostat.reconcile.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.common.base.Splitter;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.reconcile.cli.Shell.Result;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Pausing and resuming, with a real process that sleeps. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class PauseTest {
    private static final WorkloadId A = WorkloadId.process("a");
    private static final ObjectMapper JSON = new ObjectMapper();

    @TempDir
    Path directory;

    private Shell shell;

    @BeforeEach
    void applyOne() throws IOException {
        shell = new Shell(directory);
        shell.write("a.yaml", Shell.sleeper("a", 600));
        assertEquals(0, apply().status());
    }

    @AfterEach
    void leaveNothingBehind() {
        shell.run("resume", "process/a");
        shell.close();
    }

    @Test
    void whatIsPausedIsLeftAloneUntilItIsResumed() throws IOException {
        long pid = shell.pid(A);
        Result paused = pause("a look by hand");
        assertEquals(0, paused.status(), paused.err());
        assertTrue(paused.out().matches("process/a is paused since \\S+: a look by hand\n"), paused.out());

        shell.write("a.yaml", Shell.sleeper("a", 601));
        Result applied = apply();

        assertEquals(1, applied.status(), applied.out());
        assertTrue(applied.out().contains("process/a  waiting: paused since "), applied.out());
        assertTrue(applied.out().contains(": a look by hand; homeostat resume process/a ends that\n"), applied.out());
        assertEquals(pid, shell.pid(A));

        Result resumed = shell.run("resume", "process/a", "--reason", "seen");
        assertEquals(0, resumed.status(), resumed.err());
        assertEquals("process/a is no longer held back\n", resumed.out());
        assertTrue(resumed.err().contains("the next homeostat apply"), resumed.err());
        assertEquals(0, apply().status());
        assertFalse(pid == shell.pid(A), "the declaration of the meantime is in force");
    }

    @Test
    void whatIsNamedTwiceIsToldOfOnce() {
        pause("keep it");

        Result stopped = shell.run("stop", "process/a", "process/a");

        assertEquals(0, stopped.status(), stopped.err());
        assertTrue(
                stopped.err()
                        .matches("homeostat: process/a was paused since \\S+: keep it; the stop takes its place\n"),
                stopped.err());
    }

    @Test
    void aPausedWorkloadIsNotRemovedEither() {
        long pid = shell.pid(A);
        pause("keep it");

        Result deleted = shell.run("delete", "process/a");
        String removal = "; no longer declared, to be removed once it is resumed (homeostat resume process/a)";
        assertEquals(1, deleted.status(), deleted.out());
        assertTrue(deleted.out().contains("process/a  waiting: paused since "), deleted.out());
        assertTrue(deleted.out().contains(": keep it" + removal), deleted.out());
        assertEquals(pid, shell.pid(A));
        assertTrue(shell.run("plan").out().contains(removal));
        assertTrue(shell.run("status", "process/a").out().contains(removal));

        Result resumed = shell.run("resume", "process/a");
        assertEquals("process/a is no longer declared; the next homeostat apply or delete removes it\n", resumed.out());
        assertEquals(pid, shell.pid(A));
        Result again = shell.run("apply", "-f", directory + "/a.yaml");
        assertEquals(0, again.status(), again.out() + again.err());
        assertEquals(pid, shell.pid(A));
    }

    @Test
    void aPauseEndsWithTheDeclarationWhenNothingIsThere() throws IOException {
        shell.write("b.yaml", Shell.sleeper("b", 600) + "  dependsOn: [process/c]\n");
        assertEquals(
                1,
                shell.run("apply", "-f", directory + "/b.yaml", "--timeout", "1s")
                        .status());
        shell.run("pause", "process/b", "--reason", "not yet");

        assertEquals(0, shell.run("delete", "process/b").status());

        shell.write("b.yaml", Shell.sleeper("b", 600));
        assertEquals(0, shell.run("apply", "-f", directory + "/b.yaml").status());
    }

    @Test
    void soItDoesWhenItIsPruned() throws IOException {
        String[] apply = {"apply", "-f", directory + "/b.yaml", "--prune", "--timeout", "1s"};
        String waits = Shell.sleeper("b", 600) + "  dependsOn: [process/nobody]\n";
        shell.write("b.yaml", waits + Shell.sleeper("c", 600));
        assertEquals(1, shell.run(apply).status());
        shell.run("pause", "process/b", "--reason", "not yet");
        shell.write("b.yaml", Shell.sleeper("c", 600));

        Result pruned = shell.run(apply);

        assertEquals(0, pruned.status(), pruned.err());
        shell.write("b.yaml", Shell.sleeper("b", 600) + Shell.sleeper("c", 600));
        assertEquals(0, shell.run("apply", "-f", directory + "/b.yaml").status());
    }

    @Test
    void whatIsResumedIsTriedAtOnce() throws IOException {
        String failing = Shell.sleeper("b", 1).replace("/bin/sleep", "/bin/false") + "  start: {attempts: 1}\n";
        shell.write("b.yaml", failing);
        assertEquals(1, shell.run("apply", "-f", directory + "/b.yaml").status());
        String waiting = shell.run("plan").out();
        assertTrue(waiting.contains("  . process/b"), waiting);

        shell.run("pause", "process/b", "--reason", "a look by hand");
        shell.run("resume", "process/b");

        String resumed = shell.run("plan").out();
        assertTrue(resumed.contains("  + process/b"), resumed);
    }

    @Test
    void planAndStatusSayWhoIsPausedAndWhy() throws IOException {
        pause("a look by hand");

        Result plan = shell.run("plan", "--detailed-exitcode");
        assertTrue(plan.out().contains("  . process/a"), plan.out());
        assertTrue(plan.out().contains(": a look by hand; homeostat resume process/a ends that)"), plan.out());
        assertTrue(plan.out().contains("1 waiting"), plan.out());
        JsonNode planned = JSON.readTree(shell.run("plan", "-o", "json").out());
        assertEquals("PAUSED", planned.findValue("reason").asText(), planned::toString);

        Result status = shell.run("status", "process/a");
        assertEquals(1, status.status());
        assertTrue(status.out().contains("Paused"), status.out());
        JsonNode workload =
                JSON.readTree(shell.run("status", "-o", "json").out()).at("/workloads/0");
        assertEquals("RUNNING", workload.get("state").asText());
        JsonNode condition = condition(workload, "Paused");
        assertEquals("True", condition.get("status").asText());
        assertEquals("PausedByUser", condition.get("reason").asText());
        assertEquals("a look by hand", condition.get("message").asText());
        assertEquals("False", condition(workload, "Converged").get("status").asText());
    }

    @Test
    void pausingAgainOnlyChangesTheReason() {
        pause("one");
        pause("one");
        Result other = pause("two");

        assertTrue(other.out().endsWith(": two\n"), other.out());
        String events = shell.run("events").out();
        assertEquals(1, count(events, "paused: one"), events);
        assertEquals(1, count(events, "paused: two"), events);
    }

    @Test
    void pauseAndResumeAnswerProgramsInJson() throws IOException {
        JsonNode paused = JSON.readTree(shell.run("pause", "process/a", "--reason", "why", "-o", "json")
                        .out())
                .at("/workloads/0");
        assertEquals("process/a", paused.get("workload").asText());
        assertTrue(paused.get("paused").asBoolean());
        assertEquals("why", paused.get("reason").asText());

        JsonNode resumed = JSON.readTree(
                        shell.run("resume", "process/a", "-o", "json").out())
                .at("/workloads/0");
        assertFalse(resumed.get("paused").asBoolean());
    }

    @Test
    void resumingWhatIsNotPausedSaysSo() {
        Result result = shell.run("resume", "process/a");

        assertEquals(0, result.status());
        assertTrue(result.err().contains("process/a was not paused"), result.err());
        assertFalse(shell.run("events").out().contains("AGENT_RESUMED"));
    }

    @Test
    void resumingWhatIsNotPausedButHasFailedHasItTriedAgain() throws IOException {
        shell.write("b.yaml", Shell.sleeper("b", 600).replace("/bin/sleep", "/bin/not-there"));
        assertEquals(
                1,
                shell.run("apply", "-f", directory.resolve("b.yaml").toString()).status());
        Result held = shell.run("plan");
        assertTrue(held.out().contains("start failed 3 times"), held.out());

        assertEquals(0, shell.run("resume", "process/b").status());

        Result tried = shell.run("plan");
        assertTrue(tried.out().contains("+ process/b"), tried.out());
    }

    @Test
    void whatNobodyKnowsIsNotResumed() {
        Result result = shell.run("resume", "process/b");

        assertEquals(1, result.status());
        assertTrue(result.err().contains("process/b is neither declared nor on this machine"), result.err());
    }

    @Test
    void aWorkloadThatNobodyKnowsIsAnErrorThatNamesTheKnown() {
        Result result = shell.run("pause", "process/b", "process/a", "--reason", "why");

        assertEquals(1, result.status());
        assertTrue(result.err().contains("process/b is neither declared nor on this machine"), result.err());
        assertTrue(result.err().contains("declared are: process/a"), result.err());
        assertFalse(shell.run("plan").out().contains("waiting"), "nothing was paused");
    }

    @Test
    void pausingWhereNothingEverWasCreatesNothing() throws IOException {
        Path elsewhere = Files.createDirectory(directory.resolve("elsewhere"));
        Result result = new Shell(elsewhere).run("pause", "process/a", "--reason", "why");

        assertEquals(1, result.status());
        assertTrue(result.err().contains("nothing is declared here"), result.err());
        assertFalse(Files.exists(elsewhere.resolve("state")));
    }

    @Test
    void anAgentDoesItForWhoeverAsks() {
        try (TestAgent agent = TestAgent.start(shell)) {
            Result paused = pause("by the agent");
            assertEquals(0, paused.status(), paused.err());
            Result resumed = shell.run("resume", "process/a");

            assertEquals(2, agent.calls());
            assertEquals("process/a is no longer held back\n", resumed.out());
            assertEquals("", resumed.err());
        }
        assertTrue(shell.run("events").out().contains("by the agent"));
    }

    private Result apply() {
        return shell.run("apply", "-f", directory + "/a.yaml");
    }

    private Result pause(String reason) {
        return shell.run("pause", "process/a", "--reason", reason);
    }

    private static JsonNode condition(JsonNode workload, String type) {
        for (JsonNode condition : workload.get("conditions")) {
            if (condition.get("type").asText().equals(type)) {
                return condition;
            }
        }
        throw new AssertionError("no condition " + type + " in " + workload);
    }

    private static int count(String text, String word) {
        return Splitter.on(word).splitToList(text).size() - 1;
    }
}
