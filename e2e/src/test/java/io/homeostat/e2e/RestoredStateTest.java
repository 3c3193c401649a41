package io.homeostat.e2e;

import static io.homeostat.e2e.Patience.eventually;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** An older copy of the state is put back while what was launched since runs: that ends, and nothing runs twice. */
final class RestoredStateTest {
    /** With a child, which ends with it. */
    private static final String SCRIPT = "sleep 1000 & exec sleep 1001";

    @RegisterExtension
    final Homeostat homeostat = new Homeostat();

    @RegisterExtension
    final Bucket bucket = new Bucket();

    @RegisterExtension
    final Homeostat other = new Homeostat();

    @Test
    void theNextAgentEndsWhatTheStateDoesNotKnow() throws Exception {
        other.applied(Document.script("web", SCRIPT));
        List<Processes.Seen> others = other.processes("process/web");
        Path copy = copyWithTheOldOne();
        homeostat.declare("web.yaml", web("new"));
        homeostat.declare("ghost.yaml", Document.script("ghost", SCRIPT));
        AgentProcess newer = homeostat.agentProcess();
        homeostat.awaitRunning("process/ghost");
        eventually().until(() -> runs("process/web", "new"));
        newer.kill();
        homeostat.withdraw("ghost.yaml");
        restore(copy);
        List<Long> before = pids();

        JsonNode plan = homeostat.plan();
        assertEquals(
                List.of("process/ghost stop PROCESS_UNKNOWN", "process/web restart PROCESS_UNKNOWN"), planned(plan));
        assertTrue(plan.toString().contains(": launch "), plan.toString());
        assertEquals("RUNNING", homeostat.status("process/web").get("state").asText());
        assertEquals(before, pids(), "a plan touches nothing");
        assertEquals(planned(plan), planned(homeostat.plan()));

        homeostat.agent();

        assertConverges(before);
        assertEquals(others, other.processes("process/web"), "of another state directory");
        assertEquals(
                2,
                homeostat.events().stream()
                        .filter(event -> event.get("type").asText().equals("DRIFT_DETECTED"))
                        .filter(event ->
                                event.get("message").asText().matches(".*: launch [0-9a-f-]{36}, pid \\d+; .*"))
                        .count());
        assertTrue(homeostat.events("process/web").stream().noneMatch(event -> event.startsWith("AGENT_ADOPTED")));
        homeostat.run("plan", "--detailed-exitcode").exits(0);
    }

    private void assertConverges(List<Long> before) {
        eventually().until(() -> homeostat.processes("process/ghost").isEmpty());
        homeostat.awaitRunning("process/web");
        eventually().until(() -> homeostat.processes("process/web").size() == 2);
        assertTrue(runs("process/web", "new"));
        // One ends a moment after what it waits for.
        eventually()
                .until(() -> homeostat.everyProcess().stream()
                                .filter(Processes.Seen::isKeeper)
                                .count()
                        == 1);
        List<Long> now = pids();
        assertTrue(now.stream().noneMatch(before::contains), () -> now + " are not all new: " + before);
    }

    @Tag("nightly")
    @Test
    void soDoesTheNextApply() throws Exception {
        Document greeter =
                Document.greeter("greeter", "1", bucket.signedUrl(bucket.put("greeter.tar.gz", Bucket.greeter())));
        homeostat.applied(web("old"), greeter);
        Path copy = copy();
        homeostat.applied(web("new"), Document.script("ghost", SCRIPT), greeter);
        homeostat.run("restart", "plugin/greeter").exits(0);
        restore(copy);
        List<Long> before = pids();

        Result applied = homeostat.applied(web("new"), greeter);

        applied.says("process/ghost  ").says("  stopped (").says("plugin/greeter ");
        assertEquals(1, homeostat.processes("plugin/greeter").size());
        homeostat.run("delete", "plugin/greeter").exits(0);
        assertConverges(before);
        homeostat.run("status").exits(0);
    }

    @Tag("nightly")
    @Test
    void soDoesAStopOfAll() throws Exception {
        homeostat.applied(web("old"));
        Path copy = copy();
        homeostat.applied(web("new"), Document.script("ghost", SCRIPT));
        restore(copy);

        homeostat.run("stop", "--all").exits(0);

        assertEquals(List.of(), homeostat.everyProcess());
    }

    @Tag("nightly")
    @Test
    void whereTheStateWasDeletedWhatRunsIsShownAndAStopOfAllEndsIt() throws Exception {
        homeostat.applied(web("old"), Document.script("ghost", SCRIPT));
        List<Long> before = pids();
        shell("rm", "-r", homeostat.stateDir().toString());

        assertEquals(
                List.of("process/ghost stop PROCESS_UNKNOWN", "process/web stop PROCESS_UNKNOWN"),
                planned(homeostat.plan()));
        homeostat.run("plan").says("Plan: 0 to install, 0 to update, 2 to repair, 0 to remove, 0 unchanged.");
        homeostat.run("status").exits(1).says("process/ghost  RUNNING").says("process/web    RUNNING");
        homeostat.run("status", "process/web").exits(1).says("  To do:      stop (");
        assertTrue(Files.notExists(homeostat.stateDir()), "who only looks creates nothing");
        assertEquals(before, pids());

        homeostat.run("stop", "--all").exits(0).says("2 repaired, 0 removed");

        assertEquals(List.of(), homeostat.everyProcess());
    }

    @Tag("nightly")
    @Test
    void whereTheStateWasDeletedTheNextApplyEndsWhatRuns() throws Exception {
        homeostat.applied(web("old"), Document.script("ghost", SCRIPT));
        List<Long> before = pids();
        shell("rm", "-r", homeostat.stateDir().toString());

        homeostat.applied(web("new")).says("process/ghost  stopped (");

        assertConverges(before);
    }

    /** Nobody who makes it anew has to know what the machine was called. */
    @Tag("nightly")
    @Test
    void whereTheStateWasDeletedTheNextAgentEndsWhatAnotherIdLaunched() throws Exception {
        launchedUnderAnotherId();
        List<Long> before = pids();
        shell("rm", "-r", homeostat.stateDir().toString());

        assertEquals(
                List.of("process/ghost stop PROCESS_UNKNOWN", "process/web stop PROCESS_UNKNOWN"),
                planned(homeostat.plan()));
        homeostat.withdraw("ghost.yaml");
        homeostat.declare("web.yaml", web("new"));
        homeostat.agent();

        assertConverges(before);
        homeostat.run("plan", "--detailed-exitcode").exits(0);
    }

    /** Somebody has made the directory again meanwhile. */
    @Tag("nightly")
    @Test
    void whereTheStateWasEmptiedTheNextApplyEndsWhatAnotherIdLaunched() throws Exception {
        launchedUnderAnotherId();
        List<Long> before = pids();
        emptyTheState();

        homeostat.applied(web("new")).says("process/ghost  stopped (");

        assertConverges(before);
    }

    @Tag("nightly")
    @Test
    void whereTheStateWasEmptiedWhatRunsIsShownAndAStopOfAllEndsIt() throws Exception {
        launchedUnderAnotherId();
        emptyTheState();

        homeostat.run("status").exits(1).says("process/ghost  RUNNING").says("process/web    RUNNING");
        assertEquals(
                List.of("process/ghost stop PROCESS_UNKNOWN", "process/web stop PROCESS_UNKNOWN"),
                planned(homeostat.plan()));
        homeostat.run("stop", "--all").exits(0).says("2 repaired, 0 removed");

        assertEquals(List.of(), homeostat.everyProcess());
    }

    /** What is set aside belongs to a machine that may be back, and is not unknown. */
    @Tag("nightly")
    @Test
    void whatAnotherIdLaunchedIsLeftAloneWhileItsStateIsSetAside() throws Exception {
        launchedUnderAnotherId();
        List<Long> before = pids();
        homeostat.withdraw("ghost.yaml");
        homeostat.withdraw("web.yaml");
        homeostat
                .agent(AgentConfig.of(homeostat.desired()).with("instanceId", "vm-2"))
                .terminate()
                .exits(0);

        assertEquals(List.of(), planned(homeostat.plan()));
        homeostat.run("stop", "--all").exits(0);
        assertEquals(before, pids());

        Agent former = homeostat.agent(AgentConfig.of(homeostat.desired()).with("instanceId", "vm-1"));
        eventually().until(() -> homeostat.everyProcess().isEmpty());
        former.terminate().exits(0);
    }

    private void launchedUnderAnotherId() {
        homeostat.declare("web.yaml", web("old"));
        homeostat.declare("ghost.yaml", Document.script("ghost", SCRIPT));
        Agent agent = homeostat.agent(AgentConfig.of(homeostat.desired()).with("instanceId", "vm-1"));
        homeostat.awaitRunning("process/ghost");
        homeostat.awaitRunning("process/web");
        agent.terminate().exits(0);
    }

    private void emptyTheState() throws Exception {
        shell("find", homeostat.stateDir().toString(), "-mindepth", "1", "-delete");
    }

    /** As the removal of a package does it. */
    @Tag("nightly")
    @Test
    void statusListsItAndAStopByNameEndsIt() throws Exception {
        homeostat.applied(web("old"));
        Path copy = copy();
        homeostat.applied(web("new"), Document.script("ghost", SCRIPT));
        restore(copy);

        homeostat.run("status", "--all").says("process/ghost");
        homeostat.run("stop", "process/ghost").exits(0);

        assertEquals(List.of(), homeostat.processes("process/ghost"));
        assertEquals(2, homeostat.processes("process/web").size(), "nobody has named it");
    }

    @Tag("nightly")
    @Test
    void aStopThatNobodyLivedToFinishIsFinishedByTheNextAgent() throws Exception {
        Path copy = copyWithTheOldOne();
        homeostat.declare("web.yaml", leavingADeafChild("60s"));
        AgentProcess newer = homeostat.agentProcess();
        eventually().until(() -> runs("process/web", "new"));
        newer.kill();
        restore(copy);
        long main = homeostat.pid("process/web");
        AgentProcess broken = homeostat.agentProcess();
        eventually().until(() -> !Processes.isAlive(main));
        broken.kill();
        List<Processes.Seen> left = homeostat.processes("process/web");
        assertTrue(!left.isEmpty());
        eventually().until(() -> homeostat.everyProcess().stream().noneMatch(Processes.Seen::isKeeper));
        homeostat.declare("web.yaml", leavingADeafChild("1s"));

        homeostat.agent();

        eventually().until(() -> left.stream().noneMatch(process -> Processes.isAlive(process.pid())));
        homeostat.awaitRunning("process/web");
        homeostat.run("plan", "--detailed-exitcode").exits(0);
    }

    /** It ends at once, its child only when it is killed. */
    private static Document leavingADeafChild(String patience) {
        return Document.script("web", "(trap '' TERM; while :; do sleep 0.2; done) & trap 'exit 0' TERM; wait")
                .with("env.VERSION", "new")
                .with("stop.timeout", patience);
    }

    private static Document web(String version) {
        return Document.script("web", SCRIPT).with("env.VERSION", version);
    }

    private boolean runs(String id, String version) {
        List<Processes.Seen> running = homeostat.processes(id);
        return !running.isEmpty()
                && running.stream().allMatch(process -> process.environment().contains("VERSION=" + version));
    }

    private List<Long> pids() {
        return homeostat.everyProcess().stream()
                .map(Processes.Seen::pid)
                .sorted()
                .toList();
    }

    private static List<String> planned(JsonNode plan) {
        return Shapes.stream(plan.get("drift"))
                .map(one -> one.get("workload").asText() + " "
                        + one.get("action").asText() + " " + one.get("reason").asText())
                .toList();
    }

    /** Of what an agent has left behind; what it has launched runs on. */
    private Path copyWithTheOldOne() throws Exception {
        homeostat.declare("web.yaml", web("old"));
        Agent first = homeostat.agent();
        homeostat.awaitRunning("process/web");
        first.terminate().exits(0);
        return copy();
    }

    private Path copy() throws Exception {
        Path copy = homeostat.directory().resolve("copy");
        shell("cp", "-a", homeostat.stateDir().toString(), copy.toString());
        return copy;
    }

    private void restore(Path copy) throws Exception {
        shell("rm", "-r", homeostat.stateDir().toString());
        shell("cp", "-a", copy.toString(), homeostat.stateDir().toString());
    }

    private static void shell(String... command) throws IOException, InterruptedException {
        assertEquals(0, new ProcessBuilder(command).inheritIO().start().waitFor(), () -> String.join(" ", command));
    }
}
