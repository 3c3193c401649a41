package io.homeostat.e2e;

import static io.homeostat.e2e.Patience.eventually;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.homeostat.e2e.BrokenServer.End;
import io.homeostat.e2e.Bucket.Stored;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Other commands while an agent runs: it does what they would do, and says what they would say. */
final class AgentCommandsTest {
    @RegisterExtension
    final Homeostat homeostat = new Homeostat();

    @RegisterExtension
    final Bucket bucket = new Bucket();

    @Test
    void whatCommandsPrintIsTheSameWithAnAgentAndWithoutOne() {
        List<String> alone = session(homeostat::run);
        Agent agent = homeostat.agent();

        List<String> through = session(homeostat::run);

        assertEquals(alone, through);
        agent.terminate().exits(0);
    }

    /** What everything prints that can be done with a workload, in words without numbers. */
    private List<String> session(Function<String[], Result> command) {
        String file =
                homeostat.file("web.yaml", web("echo I am up; exec sleep 1000")).toString();
        String changed = homeostat
                .file("changed.yaml", web("echo I am new; exec sleep 1000"))
                .toString();
        homeostat.file("sub/any", "");
        List<String> said = new ArrayList<>();
        for (List<String> line : List.of(
                List.of("plan", "-f", file),
                List.of("apply", "-f", file),
                List.of("plan"),
                List.of("plan", "-f", file.replace("web.yaml", "./sub/../web.yaml")),
                List.of("plan", "-f", changed, "--detailed-exitcode"),
                List.of("status"),
                List.of("logs", "process/web"),
                List.of("pause", "process/web", "--reason", "to look at it"),
                List.of("plan", "-f", changed),
                List.of("status"),
                List.of("resume", "process/web"),
                List.of("apply", "-f", changed, "-o", "json"),
                List.of("apply", "-f", file),
                List.of("apply", "-f", changed, "--prune"),
                List.of("delete", "process/web"),
                List.of("status", "process/web"),
                List.of("delete", "process/web"),
                List.of("logs", "process/web"))) {
            Result result = command.apply(line.toArray(String[]::new));
            said.add(line + " exits with " + result.exit() + ": "
                    + result.out()
                            .replaceAll("[0-9]+m ?[0-9]+s", "Ns")
                            .replaceAll("[0-9]+(?:[.:-][0-9]+)*", "N")
                            .replaceAll("\\s+", " "));
        }
        return said;
    }

    @Test
    void statusSaysWhoEnforces() {
        homeostat.applied(web("exec sleep 1000"));
        assertTrue(homeostat.statuses().get("agent").isNull());
        AgentProcess agent = homeostat.agentProcess();

        JsonNode shown = homeostat.statuses().get("agent");

        assertEquals(agent.pid(), shown.get("pid").asLong());
        assertTrue(shown.get("uptimeSeconds").asLong() >= 0);
        assertTrue(homeostat.run("version").out().contains(shown.get("version").asText()));
        agent.kill();
        assertTrue(homeostat.statuses().get("agent").isNull());
    }

    @Test
    void whatWasAppliedBeforeAndWhatIsAppliedThroughItIsEnforced() {
        homeostat.applied(web("exec sleep 1000"));
        long before = homeostat.pid("process/web");
        homeostat.agent();
        assertEquals(before, homeostat.pid("process/web"));

        homeostat.apply(web("exec sleep 2000")).exits(0).says("1 updated");

        long pid = homeostat.pid("process/web");
        assertNotEquals(before, pid);
        homeostat.awaitAnother("process/web", homeostat.kill("process/web"));
        homeostat.run("delete", "process/web").exits(0).says("1 removed");
        assertEquals(List.of(), homeostat.processes("process/web"));
    }

    @Test
    void whatIsAppliedWinsOverAFileUntilItIsDeleted() {
        homeostat.declare("web.yaml", web("exec sleep 1000"));
        homeostat.agent();
        homeostat.awaitRunning("process/web");

        homeostat.applied(web("exec sleep 2000"));
        assertEquals("sleep 2000 ", command("process/web"));
        homeostat.run("status", "process/web").says("applied, overrules files");

        homeostat.run("delete", "process/web").exits(0);
        eventually().until(() -> command("process/web").equals("sleep 1000 "));
    }

    @Tag("nightly")
    @Test
    void aNewerRevisionWinsAtOnceOverADownloadThatNeverEnds() {
        byte[] archive = TarGz.ofScript("exec sleep 1000");
        try (BrokenServer stuck = new BrokenServer(archive, End.NEVER, End.NEVER, End.NEVER);
                BrokenServer good = new BrokenServer(archive)) {
            homeostat.agent();
            Document run = Document.process("run").with("entryPoint", "bin/run").with("source.timeout", "1h");
            Command first = homeostat.start(
                    "apply",
                    "-f",
                    homeostat
                            .file("1.yaml", run.with("revision", "1").with("source.url", stuck.url("1.tar.gz")))
                            .toString());
            eventually().until(() -> stuck.served().size() == 1);

            homeostat
                    .apply(homeostat.file("2.yaml", run.with("revision", "2").with("source.url", good.url("2.tar.gz"))))
                    .exits(0);

            assertEquals("RUNNING 2", homeostat.state("process/run"));
            assertEquals(1, homeostat.processes("process/run").size());
            // What it declared is no longer wanted by anybody, and the workload is as it is wanted now.
            first.await(Patience.LONGEST).exits(1).says("process/run  failed").says("meanwhile");
        }
    }

    @Test
    void nobodyWaitsForTheWorkloadsOfOthers() {
        byte[] archive = TarGz.ofScript("exec sleep 1000");
        try (BrokenServer stuck = new BrokenServer(archive, End.NEVER)) {
            homeostat.agent();
            Document slow =
                    Document.process("slow").with("entryPoint", "bin/run").with("source.timeout", "1h");
            Command first = homeostat.start(
                    "apply",
                    "-f",
                    homeostat
                            .file("1.yaml", slow.with("revision", "1").with("source.url", stuck.url("1.tar.gz")))
                            .toString());
            eventually().until(() -> stuck.served().size() == 1);

            homeostat
                    .apply(Document.script("web", "exec sleep 1000"))
                    .exits(0)
                    .says("process/slow: still under way, which this apply did not wait for")
                    .doesNotSay("failed");
            homeostat.run("delete", "process/web").exits(0).says("process/slow: still under way");

            assertTrue(first.isRunning(), first::soFar);
            homeostat.run("delete", "process/slow").exits(0);
            first.await(Patience.LONGEST).exits(1).says("process/slow  failed: it was withdrawn meanwhile");
        }
    }

    @Tag("nightly")
    @Test
    void withoutAnAgentTheOthersAreWaitedForAndSaid() {
        byte[] archive = TarGz.ofScript("exec sleep 1000");
        try (BrokenServer stuck = new BrokenServer(archive, End.NEVER, End.NEVER)) {
            Document slow =
                    Document.process("slow").with("entryPoint", "bin/run").with("source.timeout", "1h");
            Path file = homeostat.file("1.yaml", slow.with("revision", "1").with("source.url", stuck.url("1.tar.gz")));
            homeostat.run("apply", "-f", file.toString(), "--timeout", "1s").exits(1);
            Path web = homeostat.file("web.yaml", Document.script("web", "exec sleep 1000"));

            homeostat
                    .run("apply", "-f", web.toString(), "--timeout", "20s")
                    .exits(0)
                    .says("process/slow  failed")
                    .says("20s")
                    .says("process/slow: ")
                    .doesNotSay("did not wait for");
        }
    }

    @Tag("nightly")
    @Test
    void whatIsStoppedToBeReplacedIsSaidToStop() {
        Document stubborn = Document.script("stubborn", "trap '' TERM; while :; do sleep 1; done")
                .with("stop.timeout", "20s");
        homeostat.agent();
        homeostat.applied(stubborn);

        Command change = homeostat.start("restart", "process/stubborn");

        eventually().until(() -> homeostat.state("process/stubborn"), state -> state.startsWith("STOPPING"));
        change.await(Patience.LONGEST).exits(0);
        assertEquals("RUNNING local", homeostat.state("process/stubborn"));
    }

    @Tag("nightly")
    @Test
    void aPluginThatIsSlowToAnswerStartIsSaidToBeStarting() {
        Stored stored = bucket.put("greeter.tar.gz", Bucket.greeter());
        Document slow = Document.greeter("slow", "1", bucket.signedUrl(stored))
                .with("source.sha256", stored.sha256())
                .arguments("--fault=hang-start")
                .with("start", Map.of("timeout", "5m", "attempts", 1));
        homeostat.declare("slow.yaml", slow);
        homeostat.agent();
        eventually()
                .until(() -> homeostat.run("logs", "plugin/slow").out().lines().anyMatch("Start"::equals));

        assertEquals("wait START_NOT_FINISHED", homeostat.planned("plugin/slow"));
        homeostat.run("status", "plugin/slow").exits(1).says("To do:      wait (starting: ");
        // Else it would be told to start, and could not be removed, for the rest of the five minutes.
        homeostat.kill("plugin/slow");
        eventually().until(() -> homeostat.run("events").out().contains("PLUGIN_START_FAILED"));
    }

    @Test
    void aPausedWorkloadIsLeftAloneUntilItIsResumed() {
        homeostat.declare("web.yaml", web("exec sleep 1000"));
        Document other = Document.script("other", "exec sleep 1000");
        homeostat.declare("other.yaml", other);
        homeostat.agent();
        homeostat.awaitRunning("process/web");
        homeostat.awaitRunning("process/other");
        homeostat.run("pause", "process/web", "--reason", "to look at the body").exits(0);

        homeostat.kill("process/web");
        homeostat.awaitAnother("process/other", homeostat.kill("process/other"));
        eventually().until(() -> homeostat.run("status").out().contains("to look at the body"));
        assertEquals(List.of(), homeostat.processes("process/web"));
        assertEquals("True", Homeostat.condition(homeostat.status("process/web"), "Paused"));

        homeostat.run("resume", "process/web").exits(0);
        homeostat.awaitRunning("process/web");
        assertEquals(1, homeostat.processes("process/web").size());
    }

    @Test
    void whoFollowsEventsAndLogsHearsOfThemAsTheyHappen() {
        homeostat.declare("web.yaml", web("echo first; exec sleep 1000"));
        homeostat.agent();
        homeostat.awaitRunning("process/web");
        Command events = homeostat.start("events", "--follow");
        Command logs = homeostat.start("logs", "process/web", "-f");
        eventually().until(() -> logs.soFar().contains("first"));

        homeostat.declare("web.yaml", web("echo second; exec sleep 1000"));

        eventually().until(() -> logs.soFar().contains("second"));
        // Killed before it has proved itself it would be a failed start, not a crash.
        homeostat.awaitRunning("process/web");
        homeostat.kill("process/web");
        eventually().until(() -> events.soFar().contains("PLUGIN_CRASHED"));
        events.kill();
        logs.kill();
        homeostat.awaitRunning("process/web");
    }

    @Tag("nightly")
    @Test
    void whoFollowsLogsMissesNoLineWhenTheAgentIsReplaced() {
        homeostat.declare("web.yaml", web("i=0; while :; do i=$((i + 1)); echo line $i; sleep 0.01; done"));
        Agent agent = homeostat.agent();
        homeostat.awaitRunning("process/web");
        Command logs = homeostat.start("logs", "process/web", "-f");
        awaitMore(logs);

        agent.terminate();
        awaitMore(logs);
        AgentProcess next = homeostat.agentProcess();
        awaitMore(logs);
        next.kill();
        awaitMore(logs);

        List<String> lines = logs.kill().out().lines().toList();
        // The last one may not have been written wholly.
        for (int i = 0; i < lines.size() - 1; i++) {
            assertEquals("line " + (i + 1), lines.get(i));
        }
    }

    private static void awaitMore(Command logs) {
        long before = logs.soFar().lines().count();
        eventually().until(() -> logs.soFar().lines().count() > before + 20);
    }

    private String command(String id) {
        List<Processes.Seen> alive = homeostat.processes(id);
        return alive.size() == 1 ? alive.getFirst().command() : alive.toString();
    }

    private static Document web(String script) {
        return Document.script("web", script);
    }
}
