package io.homeostat.e2e;

import static io.homeostat.e2e.Patience.eventually;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** Work that a driver runs: how it is started, changed, ended and taken up again, and what is said of it. */
final class TaskTest {
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
    void aTaskRunsAndThenThereIsNothingToDo() {
        homeostat.applied(runner(), web("exec sleep 1000").with("revision", "7"));

        assertEquals("RUNNING 7", homeostat.state(WEB));
        assertEquals(List.of("CONFIG_INSTALL 7", "STARTED 7", "INSTALLED 7"), homeostat.events(WEB));
        assertEquals(1, homeostat.processes(WEB).size());
        homeostat.run("plan", "--detailed-exitcode").exits(0);
        homeostat.run("status").exits(0).says(WEB);
        homeostat.run("describe", WEB).exits(0).says("runner");
    }

    @Test
    void whatATaskUsesIsSeenInItsControlGroupsWithoutItsDriver() {
        homeostat.declare(
                "all.yaml",
                sample.local("runner", "1").with("config.faults", List.of("crash-on-stats")),
                web("while :; do :; done").with("metrics.interval", "1s"));
        homeostat.agent();
        homeostat.awaitRunning(WEB);
        assumeFalse(ControlGroups.ofTask(homeostat.allocation("web")).isEmpty(), "no control groups here");

        eventually().until(() -> usage(WEB).at("/cpuPercent").asDouble() > 0);

        JsonNode usage = usage(WEB);
        assertTrue(usage.get("memoryBytes").asLong() > 0, usage::toString);
        assertEquals(0, homeostat.status(DRIVER).get("restarts").asInt());
    }

    @Tag("nightly")
    @Test
    void whatATaskOutsideOfThemUsesItsDriverCounts() {
        homeostat.declare(
                "all.yaml",
                runner(),
                web("while :; do :; done")
                        .with("config.faults", List.of("no-groups"))
                        .with("metrics.interval", "1s"));
        homeostat.agent();
        homeostat.awaitRunning(WEB);

        eventually().until(() -> usage(WEB).at("/cpuPercent").asDouble() > 0);

        JsonNode usage = usage(WEB);
        assertTrue(usage.get("memoryBytes").asLong() > 0, usage::toString);
        homeostat.run("describe", WEB).exits(0).says("% of one core");
    }

    @Tag("nightly")
    @Test
    void aDriverThatDiesOfCountingIsNotAskedAThirdTime() {
        homeostat.declare(
                "all.yaml",
                sample.local("runner", "1"),
                web("exec sleep 1000")
                        .with("config.faults", List.of("no-groups", "crash-on-stats"))
                        .with("metrics.interval", "1s"));
        Agent agent = homeostat.agent();
        agent.awaitSaying("died when it was asked what its tasks use, 1 of 2 times; it will be asked once more");
        long task = homeostat.process(WEB);
        agent.awaitSaying(" 2 of 2 times; it is never asked again");
        homeostat.awaitRunning(DRIVER);
        homeostat.awaitRunning(WEB);
        long driver = homeostat.pid(DRIVER);
        agent.terminate();
        homeostat.agent();
        homeostat.awaitRunning(WEB);

        // Time for a few samples.
        eventually().during(Duration.ofSeconds(5)).until(() -> homeostat.pid(DRIVER) == driver);

        assertEquals(task, homeostat.process(WEB));
        assertTrue(usage(WEB).isNull() || usage(WEB).isMissingNode());
    }

    @Tag("nightly")
    @Test
    void whatADriverTellsOfATaskIsAnEventUpToABudget() {
        homeostat.declare(
                "all.yaml",
                runner(),
                web("exec sleep 1000").with("revision", "7").with("config.faults", List.of("event-flood=1000")));
        homeostat.agent();
        homeostat.awaitRunning(WEB);
        long pid = homeostat.process(WEB);

        eventually().until(() -> !told(DRIVER).isEmpty());

        List<String> told = told(WEB);
        assertEquals("runner: Started (pid=" + pid + ")", told.getFirst());
        assertEquals("runner: event 0", told.get(1));
        assertTrue(told.size() < 500, () -> told.size() + " events");
        assertTrue(
                told(DRIVER)
                        .getFirst()
                        .matches(".*[0-9]+ more events of its tasks were dropped, because there were too many"),
                told(DRIVER)::toString);
    }

    @Tag("nightly")
    @Test
    void whatADriverTellsOfATaskHasNoSecrets() {
        homeostat.keepsSecret("hunter2-hunter2");
        homeostat.declare(
                "all.yaml",
                runner(),
                web("exec sleep 1000")
                        .with("env.PASSWORD", "hunter2-hunter2")
                        .with("config.faults", List.of("tells-password")));
        homeostat.agent();

        eventually().until(() -> told(WEB).size() == 2);
        assertTrue(told(WEB).getLast().startsWith("runner: its password is"), told(WEB)::toString);
    }

    @Test
    void aTaskIsWellOnceItsProbeSucceedsInsideOfIt() {
        Document web = web("exec sleep 1000")
                .with("revision", "7")
                .with("probe.exec.command", List.of("/bin/sh", "-c", "echo not yet; test -e up"))
                .with("health.timeout", "30s")
                .with("start.timeout", "3s")
                .with("start.attempts", 1);
        homeostat.apply(runner(), web).exits(1).says("probe").says("not yet");

        homeostat.applied(runner(), web.with("config.args", List.of("-c", "touch up; exec sleep 1000")));

        assertEquals("RUNNING 7", homeostat.state(WEB));
        assertEquals("True", Homeostat.condition(homeostat.status(WEB), "Healthy"));
    }

    @Tag("nightly")
    @Test
    void anUpgradeWhoseProbeFailsIsUndone() {
        Document web = web("exec sleep 1000").with("revision", "7");
        homeostat.applied(runner(), web);

        homeostat
                .apply(
                        runner(),
                        web.with("revision", "8")
                                .with("probe.tcp.address", "127.0.0.1:1")
                                .with("start.timeout", "3s")
                                .with("start.attempts", 1))
                .exits(1)
                .says("connecting to 127.0.0.1:1 failed");

        assertEquals("RUNNING 7", homeostat.state(WEB));
        assertEquals("True", Homeostat.condition(homeostat.status(WEB), "RolledBack"));
    }

    @Tag("nightly")
    @Test
    void aProbeThatHangsIsThatOfOneTask() {
        Document hanging = web("exec sleep 1000")
                .with("config.faults", List.of("hang-exec"))
                .with("probe.exec.command", List.of("/bin/true"))
                .with("health.timeout", "1s")
                .with("start.timeout", "3s")
                .with("start.attempts", 1);
        Document other =
                Document.task("other", "runner", "exec sleep 1000").with("probe.exec.command", List.of("/bin/true"));

        homeostat.apply(runner(), hanging, other).exits(1).says("/bin/true").says(" 1000 ms");

        assertEquals("True", Homeostat.condition(homeostat.status("task/other"), "Healthy"));
    }

    @Tag("nightly")
    @Test
    void aProbeThatItsDriverCanNotRunIsRefusedBeforeAnythingIsStopped() {
        Document driver = runner().with("config.faults", List.of("no-exec"));
        Document web = web("exec sleep 1000").with("revision", "7");
        homeostat.applied(driver, web);
        long pid = homeostat.process(WEB);

        homeostat
                .apply(driver, web.with("revision", "8").with("probe.exec.command", List.of("/bin/true")))
                .exits(1)
                .says("spec.probe.exec: its driver runner can't run commands in tasks; use http, tcp or grpc");

        assertEquals(pid, homeostat.process(WEB));
    }

    @Tag("nightly")
    @Test
    void aStartThatIsRefusedForGoodIsUndoneAtOnceAndOneThatMayWorkUsesItsAttempts() {
        Document web = web("exec sleep 1000").with("revision", "7").with("start.attempts", 3);
        homeostat.applied(runner(), web);
        assertEquals(1, starts());

        homeostat
                .apply(runner(), web.with("revision", "8").with("config.faults", List.of("start-error")))
                .exits(1)
                .says("refuse StartTask");
        assertEquals("RUNNING 7", homeostat.state(WEB));
        assertEquals(1 + 2, starts(), "one of 8, and one to go back");

        homeostat
                .apply(runner(), web.with("revision", "9").with("config.faults", List.of("start-error-recoverable")))
                .exits(1)
                .says("for now");
        assertEquals("RUNNING 7", homeostat.state(WEB));
        assertEquals(1 + 2 + 4, starts(), "three of 9, and one to go back");
    }

    /** How often the driver was asked to start a task, as it has logged that. */
    private long starts() {
        return homeostat
                .run("logs", DRIVER, "--tail", "10000")
                .out()
                .lines()
                .filter(line -> line.contains("\"@message\":\"StartTask\""))
                .count();
    }

    private List<String> told(String id) {
        return homeostat.events().stream()
                .filter(event -> event.get("workload").asText().equals(id)
                        && event.get("type").asText().equals("AGENT_DRIVER_EVENT"))
                .map(event -> event.get("message").asText())
                .toList();
    }

    private JsonNode usage(String id) {
        return homeostat.status(id).path("metrics");
    }

    @Test
    void anotherConfigurationIsPlannedAsARestart() {
        homeostat.applied(runner(), web("exec sleep 1000").with("revision", "7"));
        long pid = homeostat.process(WEB);
        Path changed =
                homeostat.file("changed.yaml", runner(), web("exec sleep 2000").with("revision", "7"));

        JsonNode plan = homeostat.plan("-f", changed.toString());

        assertEquals(1, plan.get("changes").size(), plan::toString);
        assertEquals(WEB, plan.at("/changes/0/workload").asText());
        assertEquals("CONFIG_CHANGED", plan.at("/changes/0/reason").asText());
        assertEquals(pid, homeostat.process(WEB));
        homeostat.applied(changed);
        assertNotEquals(pid, homeostat.process(WEB));
    }

    @Test
    void aConfigurationThatTheDriverRefusesNeverStopsWhatRuns() {
        Document web = web("exec sleep 1000");
        homeostat.applied(runner(), web);
        long pid = homeostat.process(WEB);

        homeostat.apply(runner(), web.with("config.comand", "/bin/sh")).exits(1).says("spec.config.comand");

        assertEquals(pid, homeostat.process(WEB));
        homeostat
                .apply(runner(), web.with("config", Map.of("args", List.of("x"))))
                .exits(1)
                .says("spec.config: the configuration lacks \"command\", which is required");
        assertEquals(pid, homeostat.process(WEB));
        homeostat.applied(runner(), web);
        assertEquals(pid, homeostat.process(WEB));
    }

    @Test
    void howATaskEndedIsKnownAndItIsRestarted() {
        Path go = homeostat.directory().resolve("go");
        homeostat.declare(
                "all.yaml",
                runner(),
                web("while [ ! -e " + go + " ]; do sleep 0.1; done; rm " + go + "; exit 7"),
                Document.task("other", "runner", "exec sleep 1000"));
        homeostat.agent();
        homeostat.awaitRunning(WEB);
        homeostat.awaitRunning("task/other");
        long web = firstOf(WEB);
        long other = homeostat.process("task/other");

        homeostat.file("go", "");
        Processes.signal("SEGV", other);

        homeostat.awaitAnother("task/other", other);
        eventually()
                .until(() ->
                        !Processes.isAlive(web) && !homeostat.processes(WEB).isEmpty());
        homeostat.awaitRunning(WEB);
        homeostat.awaitRunning("task/other");
        JsonNode exit = homeostat.status(WEB).get("lastExit");
        assertEquals(7, exit.get("code").asInt(), exit::toString);
        assertEquals("EXITED", exit.get("reason").asText(), exit::toString);
        JsonNode signaled = homeostat.status("task/other").get("lastExit");
        assertEquals(11, signaled.get("signal").asInt(), signaled::toString);
        assertEquals("SIGNALED", signaled.get("reason").asText(), signaled::toString);
        assertEquals(1, homeostat.status(WEB).get("restarts").asInt());
        assertTrue(homeostat.events().stream()
                .anyMatch(event -> event.get("type").asText().equals("PLUGIN_CRASHED")
                        && event.get("workload").asText().equals(WEB)
                        && event.get("message").asText().contains("status 7")));
    }

    @Tag("nightly")
    @Test
    void aTaskThatNeedsMoreMemoryThanItMayIsKilledAndTheCauseIsSaid() throws IOException {
        Path go = homeostat.directory().resolve("go");
        Document hungry = web("while [ ! -e " + go + " ]; do sleep 0.1; done;"
                        + " exec dd if=/dev/zero of=/dev/null bs=200M count=1")
                .with("limits.memory", "64Mi");
        homeostat.applied(runner(), hungry);
        assumeFalse(ControlGroups.ofTask(homeostat.allocation("web")).isEmpty(), "no control groups here");
        long pid = firstOf(WEB);
        homeostat.file("go", "");
        eventually().until(() -> !Processes.isAlive(pid));

        eventually()
                .until(
                        () -> homeostat.status(WEB).get("lastExit"),
                        exit -> exit.path("reason").asText().equals("OOM_KILLED"));
        homeostat.run("plan").says("out of memory");
    }

    @Tag("nightly")
    @Test
    void aTaskThatRunsToItsEndRunsOnce() throws IOException {
        Path runs = homeostat.directory().resolve("runs");
        Document good = oneShot("good", "echo good >> " + runs);
        Document bad = oneShot("bad", "echo bad >> " + runs + "; exit 3");
        homeostat.applied(runner(), good);

        homeostat.apply(runner(), good, bad);

        JsonNode run = homeostat.status("task/good").at("/execution/lastRun");
        assertEquals("COMPLETED", run.get("result").asText(), run::toString);
        JsonNode failed = homeostat.status("task/bad").at("/execution/lastRun");
        assertEquals("FAILED", failed.get("result").asText(), failed::toString);
        assertEquals(3, failed.at("/exit/code").asInt());
        assertEquals(List.of("good", "bad"), Files.readAllLines(runs));
        homeostat.applied(runner(), good);
        assertEquals(List.of("good", "bad"), Files.readAllLines(runs));
    }

    private static Document oneShot(String name, String script) {
        return Document.task(name, "runner", script)
                .with("execution", Map.of("type", "oneShot", "triggers", Map.of("startup", true)));
    }

    @Test
    void aTaskIsAskedToEndByItsSignalAndKilledWhenItDoesNot() {
        homeostat.applied(
                runner(),
                web("trap 'echo interrupted; exit 7' INT; trap '' TERM; echo ready; while :; do sleep 0.05; done")
                        .with("stop.signal", "SIGINT"),
                Document.task("deaf", "runner", "trap '' TERM; echo ready; while :; do sleep 0.05; done")
                        .with("stop.timeout", "1s"));
        eventually()
                .until(() -> logs(WEB).contains("ready") && logs("task/deaf").contains("ready"));

        homeostat.run("stop", WEB, "task/deaf").exits(0);

        assertEquals(List.of(), homeostat.processes(WEB));
        assertEquals(List.of(), homeostat.processes("task/deaf"));
        homeostat.run("logs", WEB).says("interrupted");
        assertEquals("STOPPED", homeostat.status(WEB).at("/lastExit/reason").asText());
    }

    @Test
    void anotherRevisionComesWithItsArchiveAndTheFormerOneReturnsWhenItFails() {
        Document web = Document.task("web", "runner", "").with("config", Map.of("command", "local/bin/run"));
        Document first = version(web, "1", "echo this is one; exec sleep 1000");
        homeostat.applied(runner(), first);
        long one = homeostat.process(WEB);
        homeostat.run("logs", WEB).says("this is one");

        homeostat.applied(runner(), version(web, "2", "echo this is two; exec sleep 1000"));

        assertEquals("RUNNING 2", homeostat.state(WEB));
        assertFalse(Processes.isAlive(one));
        homeostat.run("logs", WEB).says("this is two");

        homeostat
                .apply(runner(), version(web, "3", "echo this is three; exit 1"))
                .exits(1)
                .says("status 1");

        assertEquals("RUNNING 2", homeostat.state(WEB));
        JsonNode status = homeostat.status(WEB);
        assertEquals("True", Homeostat.condition(status, "RolledBack"), status::toString);
        assertEquals("3", status.get("pendingRevision").asText());
        assertEquals(1, homeostat.processes(WEB).size());
    }

    private Document version(Document task, String revision, String script) {
        try {
            byte[] archive = TarGz.ofScript(script);
            Path file = Files.write(homeostat.directory().resolve("web-" + revision + ".tar.gz"), archive);
            return task.with("revision", revision)
                    .with("start.attempts", 1)
                    .with("source.url", file.toUri().toString())
                    .with("source.sha256", Hashes.sha256(archive));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Tag("nightly")
    @Test
    void thereAreNeverTwoCopiesOfATaskWhateverIsKilled() throws IOException {
        Path starts = homeostat.directory().resolve("starts");
        homeostat.declare("all.yaml", runner(), web("echo $$ >> " + starts + "; exec sleep 1000"));
        AgentProcess first = homeostat.agentProcess();
        homeostat.awaitRunning(WEB);
        long task = homeostat.process(WEB);

        // Its process goes on without the executor, and nobody can say how it is.
        Processes.kill(Processes.parent(task));
        eventually().until(() -> isAnotherAlone(task));
        homeostat.awaitRunning(WEB);

        long second = homeostat.process(WEB);
        first.kill();
        Processes.kill(homeostat.process(DRIVER));
        Processes.kill(Processes.parent(second));
        homeostat.agent();
        eventually().until(() -> isAnotherAlone(second));
        homeostat.awaitRunning(WEB);

        List<String> pids = Files.readAllLines(starts);
        assertEquals(3, pids.size(), pids::toString);
        assertEquals(
                1,
                pids.stream()
                        .filter(pid -> Processes.isAlive(Long.parseLong(pid)))
                        .count());
    }

    /** Fails when there are two. */
    private boolean isAnotherAlone(long former) {
        List<Processes.Seen> alive = homeostat.processes(WEB).stream()
                .filter(process -> process.command().startsWith("sleep"))
                .toList();
        assertTrue(alive.size() <= 1, alive::toString);
        return alive.size() == 1 && alive.getFirst().pid() != former;
    }

    @Tag("nightly")
    @Test
    void howATaskEndedWhileNoAgentWasThereIsKnownAndItsOutputOfThatTimeIsLogged() {
        Path go = homeostat.directory().resolve("go");
        homeostat.declare(
                "all.yaml",
                runner(),
                web("echo begun; while [ ! -e " + go + " ]; do sleep 0.1; done; rm " + go
                        + "; echo last words >&2; exit 7"));
        AgentProcess first = homeostat.agentProcess();
        homeostat.awaitRunning(WEB);
        long pid = firstOf(WEB);
        eventually().until(() -> logs(WEB).contains("begun"));
        first.kill();
        homeostat.file("go", "");
        eventually().until(() -> !Processes.isAlive(pid));

        homeostat.agent();

        homeostat.awaitRunning(WEB);
        eventually().until(() -> !homeostat.processes(WEB).isEmpty());
        JsonNode exit = homeostat.status(WEB).get("lastExit");
        assertEquals(7, exit.get("code").asInt(), exit::toString);
        assertEquals("EXITED", exit.get("reason").asText(), exit::toString);
        assertEquals(1, homeostat.status(WEB).get("restarts").asInt());
        eventually().until(() -> count(logs(WEB), "begun") == 2);
        assertEquals(1, count(logs(WEB), "last words"), () -> logs(WEB));
    }

    @Tag("nightly")
    @Test
    void whatATaskPrintsIsLoggedOnceAlsoWhatItPrintsWhileNoAgentIsThere() {
        Path go = homeostat.directory().resolve("go");
        homeostat.declare(
                "all.yaml",
                runner(),
                web("echo before; while [ ! -e " + go + " ]; do sleep 0.1; done; echo meanwhile; rm " + go
                        + "; exec sleep 1000"));
        AgentProcess first = homeostat.agentProcess();
        // Not earlier: what prints before its start is answered is started again.
        homeostat.awaitRunning(WEB);
        eventually().until(() -> logs(WEB).contains("before"));
        first.kill();
        homeostat.file("go", "");
        eventually().until(() -> !Files.exists(go));

        homeostat.agent();

        homeostat.awaitRunning(WEB);
        eventually().until(() -> logs(WEB).contains("meanwhile"));
        assertEquals(List.of("before", "meanwhile"), words(logs(WEB)));
    }

    @Tag("nightly")
    @Test
    void whatLeavesTheSessionOfATaskIsKilledWithIt() throws IOException {
        homeostat.applied(runner(), web("setsid sleep 1234 > /dev/null 2>&1 & exec sleep 1000"));
        List<Path> groups = ControlGroups.ofTask(homeostat.allocation("web"));
        assumeFalse(groups.isEmpty(), "no control groups here");
        eventually().until(() -> homeostat.processes(WEB).size() == 2);

        homeostat.run("stop", WEB).exits(0);

        assertEquals(List.of(), homeostat.processes(WEB));
    }

    @Tag("nightly")
    @Test
    void aTaskIsToldWhatAndWhereItIs() {
        homeostat.applied(
                runner(),
                web("env | sort; pwd; exec sleep 1000")
                        .with("env", Map.of("A", "b", "GREETING", "hello world"))
                        .with("limits.memory", "64Mi")
                        .with("ports", List.of(Map.of("label", "http", "port", 18_080, "to", 80))));
        Path task = homeostat.allocation("web");
        String allocation = task.getName(task.getNameCount() - 2).toString();
        eventually().until(() -> logs(WEB).lines().anyMatch(line -> line.endsWith(task.toString())));

        List<String> said = words(logs(WEB));

        for (String line : List.of(
                "A=b",
                "GREETING=hello world",
                "NOMAD_ALLOC_DIR=" + task.resolveSibling("alloc"),
                "NOMAD_TASK_DIR=" + task.resolve("local"),
                "NOMAD_SECRETS_DIR=" + task.resolve("secrets"),
                "NOMAD_ALLOC_ID=" + allocation,
                "NOMAD_SHORT_ALLOC_ID=" + allocation.substring(0, 8),
                "NOMAD_ALLOC_NAME=web.web[0]",
                "NOMAD_ALLOC_INDEX=0",
                "NOMAD_TASK_NAME=web",
                "NOMAD_GROUP_NAME=web",
                "NOMAD_JOB_ID=web",
                "NOMAD_JOB_NAME=web",
                "NOMAD_DC=homeostat",
                "NOMAD_REGION=global",
                "NOMAD_NAMESPACE=default",
                "NOMAD_MEMORY_LIMIT=64",
                "NOMAD_PORT_http=80",
                "NOMAD_HOST_PORT_http=18080",
                "NOMAD_ADDR_http=127.0.0.1:18080")) {
            assertTrue(said.contains(line), () -> line + " is not in " + said);
        }
        assertTrue(said.stream().noneMatch(line -> line.startsWith("NOMAD_PLUGIN_MAGIC_COOKIE")), said::toString);
        assertTrue(said.stream().noneMatch(line -> line.startsWith("HOMEOSTAT_")), said::toString);
        assertTrue(said.stream().anyMatch(line -> line.startsWith("PATH=")), said::toString);
    }

    @Tag("nightly")
    @Test
    void aTaskThatCanNotBeStartedIsToldWithItsDriversWordsAndLeavesNoProcess() {
        Result applied = homeostat.apply(
                runner(),
                faulty("failing", "start-error"),
                faulty("orphan", "start-orphan"),
                Document.task("missing", "runner", "").with("config.command", "/no/such/program"));

        applied.exits(1)
                .says("task/failing")
                .says("task/orphan")
                .says("its driver could not start it: StartTask failed with UNKNOWN");
        // What of it is the task's configuration may be secret.
        assertFalse(applied.out().contains("/no/such/program"), applied.out());
        for (String name : List.of("failing", "orphan", "missing")) {
            assertEquals(List.of(), homeostat.processes("task/" + name));
        }
        // Three in a row.
        homeostat.run("status", DRIVER).exits(1);
    }

    private static Document faulty(String name, String fault) {
        return Document.task(name, "runner", "exec sleep 1000")
                .with("config.faults", List.of(fault))
                .with("start.attempts", 1);
    }

    @Tag("nightly")
    @Test
    void aTaskWhoseStartIsNeverAnsweredDelaysNoOther() {
        homeostat.declare("all.yaml", runner(), faulty("hangs", "hang-start").with("start.timeout", "20s"));
        homeostat.agent();
        homeostat.awaitRunning(DRIVER);
        homeostat.declare("web.yaml", web("exec sleep 1000"));

        homeostat.awaitRunning(WEB);
        long web = homeostat.process(WEB);
        Processes.kill(web);
        homeostat.awaitAnother(WEB, web);

        assertNotEquals("RUNNING", homeostat.status("task/hangs").get("state").asText());
        assertEquals(List.of(), homeostat.processes("task/hangs"));
    }

    @Tag("nightly")
    @Test
    void whatADriverStartsTooLateIsNoSecondCopy() {
        homeostat.declare("runner.yaml", runner());
        Agent agent = homeostat.agent();
        homeostat.awaitRunning(DRIVER);
        // Where output is the driver's own business, nothing that we have removed keeps it from starting the task.
        homeostat.declare(
                "late.yaml",
                Document.task("late", "runner", "exec sleep 1000")
                        .with("config.faults", List.of("slow-start=3000", "own-output"))
                        .with("start.timeout", "1s")
                        .with("start.attempts", 1));

        agent.awaitSaying("was started too late, and is destroyed");

        eventually().until(() -> homeostat.processes("task/late").isEmpty());
        assertTrue(homeostat.events().stream()
                .anyMatch(event -> event.get("workload").asText().equals("task/late")
                        && event.get("message").asText().matches("(?s).*StartTask .* 1000 ms.*")));
    }

    @Tag("nightly")
    @Test
    void aTaskWhoseDriverIsDownCanBeDeleted() {
        homeostat.applied(runner(), web("exec sleep 1000"));
        Path task = homeostat.allocation("web");
        List<Path> groups = ControlGroups.ofTask(task);
        assumeFalse(groups.isEmpty(), "no control groups here");
        homeostat.run("stop", DRIVER);
        assertEquals(List.of(), homeostat.processes(DRIVER));
        assertEquals(1, homeostat.processes(WEB).size());

        homeostat.run("delete", WEB).exits(0);

        assertEquals(List.of(), homeostat.processes(WEB));
        assertEquals(List.of(), ControlGroups.ofTask(task));
        assertFalse(Files.exists(task.getParent()));
    }

    @Tag("nightly")
    @Test
    void aPausedTaskStaysDeadUntilItIsResumed() {
        homeostat.declare("all.yaml", runner(), web("exec sleep 1000"));
        homeostat.agent();
        homeostat.awaitRunning(WEB);
        homeostat.run("pause", WEB, "--reason", "a look by hand").exits(0);
        long pid = homeostat.process(WEB);
        Processes.kill(pid);
        eventually().until(() -> homeostat.status(WEB).get("state").asText().equals("CRASHED"));

        assertEquals(List.of(), homeostat.processes(WEB));
        homeostat.run("resume", WEB).exits(0);

        homeostat.awaitAnother(WEB, pid);
        homeostat.awaitRunning(WEB);
    }

    @Tag("nightly")
    @Test
    void aTaskWaitsForWhatItDependsOn() {
        homeostat.applied(
                runner(),
                web("exec sleep 1000").with("dependsOn", List.of("process/db")),
                Document.script("db", "exec sleep 1000"));

        List<String> started = homeostat.events().stream()
                .filter(event -> event.get("type").asText().equals("PLUGIN_STARTED"))
                .map(event -> event.get("workload").asText())
                .toList();
        assertTrue(started.indexOf("process/db") < started.indexOf(WEB), started::toString);
        assertTrue(started.indexOf(DRIVER) < started.indexOf(WEB), started::toString);
    }

    @Tag("nightly")
    @Test
    void whyADriverRunsNoTaskIsSaidOfTheTask() {
        Result sick = homeostat
                .apply(
                        sample.local("ill", "1").arguments("--fault=unhealthy"),
                        Document.task("sick", "ill", "exec sleep 1000").with("start.attempts", 1))
                .exits(1);
        assertTrue(sick.lineOf("task/sick").contains("unhealthy"), sick::toString);

        homeostat.applied(runner());
        homeostat.run("stop", DRIVER).exits(0);
        Result stopped = homeostat.apply(runner(), web("exec sleep 1000")).exits(1);
        assertTrue(stopped.lineOf(WEB).matches(".*driver/runner .* stopped.*"), stopped::toString);

        homeostat.run("start", DRIVER).exits(0);
        homeostat.run("pause", DRIVER, "--reason", "a look by hand").exits(0);
        homeostat.kill(DRIVER);
        Result paused = homeostat.apply(runner(), web("exec sleep 1000")).exits(1);
        assertTrue(paused.lineOf(WEB).matches(".*driver/runner .* paused.*"), paused::toString);
        paused.says("a look by hand");
        homeostat.run("resume", DRIVER).exits(0);
    }

    /** The shell of a task, which may have children. */
    private long firstOf(String id) {
        return homeostat.processes(id).stream()
                .filter(process -> process.command().startsWith("/bin/sh"))
                .findFirst()
                .orElseThrow()
                .pid();
    }

    private String logs(String id) {
        return homeostat.run("logs", id).out();
    }

    private static long count(String text, String words) {
        return text.lines().filter(line -> line.contains(words)).count();
    }

    private static List<String> words(String logs) {
        return logs.lines().map(String::strip).toList();
    }
}
