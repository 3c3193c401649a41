package io.homeostat.e2e;

import static io.homeostat.e2e.Patience.eventually;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Supplier;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Commands and signals for what runs, with an agent and without one. */
final class ExecTest {
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

    /** @param faults of the driver */
    private void begin(boolean enforced, String... faults) {
        if (enforced) {
            enforced(homeostat::agent, faults);
        } else {
            homeostat.applied(runner(faults), web());
        }
    }

    @CanIgnoreReturnValue
    private <A extends Agent> A enforced(Supplier<A> start, String... faults) {
        homeostat.declare("all.yaml", runner(faults), web());
        A agent = start.get();
        homeostat.awaitRunning(WEB);
        return agent;
    }

    private static Document runner(String... faults) {
        return sample.local("runner", "1").with("config.faults", List.of(faults));
    }

    private static Document web() {
        return Document.task("web", "runner", "trap 'touch hung-up' HUP; while :; do sleep 0.1; done");
    }

    @CanIgnoreReturnValue
    private Result shell(String script) {
        return homeostat.checked(homeostat.shell(script).await(Patience.LONGEST));
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void outputsAndStatusAreTheCommands(boolean agent) {
        begin(agent);

        Result result = shell("$HS exec task/web -- sh -c 'echo out; echo err >&2; exit 3'")
                .exits(3);

        assertEquals("out\n", result.out());
        assertEquals("err\n", result.err());
        shell("$HS exec task/web -- sh -c 'kill -9 $$'").exits(137);
        assertEquals("", shell("$HS exec task/web -- cat").exits(0).out(), "without -i there is nothing to read");
        shell("$HS exec task/web -- yes | head -n 1").exits(0).says("y");
    }

    @Tag("nightly")
    @Tag("nightly")
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void megabytesGoInAndOutUnchanged(boolean agent) {
        begin(agent);

        Result result = shell("""
                head -c 5000000 /dev/urandom >sent
                $HS exec -i task/web -- cat <sent >received || exit
                cmp sent received && echo same""");

        assertEquals("same\n", result.exits(0).out());
    }

    @Tag("nightly")
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aTerminalHasTheCallersSizeAndEachKeyIsTheCommands(boolean agent) {
        begin(agent);
        homeostat.file("inside", Terminal.INSIDE);

        Terminal.talksTo(homeostat, "$HS exec -it task/web -- sh $PWD/inside");
    }

    @ParameterizedTest
    @CsvSource({
        "kill -TERM $(cat exec), status 143, status 143",
        "kill -9 $DRIVER, status 1, the driver runner did not run it to its end",
        "kill -9 $AGENT, status 1, went away before it was done"
    })
    void aTerminalIsAsBeforeHoweverItEnds(String end, String status, String words) {
        AgentProcess agent = enforced(homeostat::agentProcess);
        String driver =
                Long.toString(homeostat.processes("driver/runner").getFirst().pid());
        homeostat.environment("DRIVER", driver);
        homeostat.environment("AGENT", Long.toString(agent.pid()));
        // What a killed driver leaves behind, only control groups would tell of.
        homeostat.file("inside", "echo running; while kill -0 " + driver + "; do sleep 0.1; done");

        Terminal.typed(
                        homeostat,
                        "sh -c 'echo $$ >exec; exec $HS exec -it task/web -- sh $PWD/inside'",
                        "until grep -q running shown; do sleep 0.1; done; " + end + "\n")
                .says(status)
                .says(words);

        if (end.contains("$AGENT")) {
            agent.await();
        } else {
            homeostat.awaitRunning("driver/runner");
            homeostat.awaitRunning(WEB);
        }
    }

    @Tag("nightly")
    @Test
    void whoEndsTheCallEndsTheCommand() {
        begin(true);
        Command call = homeostat.shell("exec $HS exec task/web -- sh -c 'echo $$ >pid; exec sleep 1000'");
        Path pid = homeostat.allocation("web").resolve("pid");
        eventually().until(() -> Files.exists(pid) && Files.size(pid) > 0);

        call.terminate();

        assertEquals(143, call.await(Patience.LONGEST).exit());
        eventually()
                .until(() ->
                        !Processes.isAlive(Long.parseLong(Files.readString(pid).strip())));
        assertEquals("RUNNING", homeostat.status(WEB).get("state").asText());
    }

    @Test
    void whatCanNotBeIsSaidBeforeAnythingIsDone() {
        begin(false);

        homeostat
                .exec("driver/runner", "ls")
                .exits(1)
                .says("exec works with container/NAME, task/NAME, and driver/runner is a Driver");
        homeostat.exec("task/other", "ls").exits(1).says("task/other").says("not declared");
        homeostat.run("exec", "task/web", "ls").exits(64).says("homeostat exec task/web -- ls");
        homeostat.run("exec", "task/web").exits(64).says("needs a command after --");
        shell("$HS exec -t task/web -- sh").exits(64).says("-t needs a terminal as standard input");
        homeostat.run("signal", "task/web", "CHLD").exits(1).says("drivers may not know SIGCHLD");
        homeostat.run("stop", WEB).exits(0);
        homeostat.exec("task/web", "ls").exits(1).says("task/web does not run");
        homeostat.run("signal", "task/web", "HUP").exits(1).says("task/web does not run");
        homeostat.run("signal", "task/web", "NOPE").exits(64).says("'NOPE' is no signal");
        assertFalse(homeostat.events(WEB).toString().contains("SIGNALED"));
    }

    @Test
    void whatADriverSaysItCanNotDoIsNotTried() {
        begin(false, "no-exec", "no-signals");

        homeostat.exec("task/web", "ls").exits(1).says("runs no commands in tasks");
        homeostat.run("signal", "task/web", "HUP").exits(1).says("sends no signals to tasks");
        assertFalse(homeostat.events(WEB).toString().contains("SIGNALED"));
    }

    @Tag("nightly")
    @Test
    void aDriverThatCanNotTalkWithCommandsRunsThoseThatReadNothing() {
        begin(false, "no-exec-streaming");

        Result result = shell("$HS exec task/web -- sh -c 'echo out; echo err >&2; exit 4'")
                .exits(4);

        assertEquals("out\n", result.out());
        assertEquals("err\n", result.err());
        shell("$HS exec -i task/web -- cat").exits(1).says("UNIMPLEMENTED");
    }

    @Tag("nightly")
    @Tag("nightly")
    @Test
    void anEndThatADriverDoesNotTellIsNoSuccess() {
        begin(false, "exec-without-end");

        shell("$HS exec task/web -- echo out").exits(1).says("out").says("not known");
    }

    @Tag("nightly")
    @Tag("nightly")
    @Test
    void aDriverThatDiesOfACommandIsSaid() {
        begin(false, "crash-on-exec");

        shell("$HS exec task/web -- ls").exits(1).says("driver runner").says("its end");
    }

    @Tag("nightly")
    @Tag("nightly")
    @Test
    void aCommandIsNotWaitedForAfterTheEndOfItsTask() {
        begin(true, "hang-exec-streaming");
        Command call = homeostat.shell("exec $HS exec task/web -- sleep 1000");
        eventually().until(() -> homeostat.run("logs", "driver/runner").out().contains("ExecTaskStreaming"));

        homeostat.run("stop", WEB).exits(0);

        call.await(Patience.LONGEST).exits(1).says("the task has ended, and it does not say how the command has");
    }

    @Tag("nightly")
    @Tag("nightly")
    @Test
    void aDriverThatHangsIsNotWaitedForForEver() {
        begin(true);
        Command call = homeostat.shell("exec $HS exec task/web -- sh -c 'echo begun; exec sleep 1000'");
        eventually().until(() -> call.soFar().contains("begun"));
        long driver = homeostat.processes("driver/runner").getFirst().pid();
        Processes.signal("STOP", driver);
        try {
            call.await(Patience.LONGEST).exits(1).says(" 5000 ms");
        } finally {
            Processes.signal("CONT", driver);
        }
    }

    @Tag("nightly")
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aSignalReachesATaskAndIsAnEvent(boolean agent) {
        begin(agent);

        shell("$HS signal task/web hup").exits(0).says("task/web  SIGHUP sent");

        eventually().until(() -> Files.exists(homeostat.allocation("web").resolve("hung-up")));
        shell("$HS events --for task/web").says("SIGHUP is sent, as ");
        assertEquals("RUNNING", homeostat.status(WEB).get("state").asText());
        homeostat.run("plan", "--detailed-exitcode").exits(0);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aSignalReachesAProcessAndIsToldBeforeItsEnd(boolean agent) {
        Document sleeper = Document.script("sleeper", "trap 'exit 7' USR1; while :; do sleep 0.1; done");
        if (agent) {
            homeostat.declare("all.yaml", sleeper);
            homeostat.agent();
            homeostat.awaitRunning("process/sleeper");
        } else {
            homeostat.applied(sleeper);
        }
        long pid = homeostat.pid("process/sleeper");

        shell("$HS signal process/sleeper 10").exits(0).says("process/sleeper  SIGUSR1 sent");

        eventually().until(() -> !Processes.isAlive(pid));
        assertTrue(homeostat.events("process/sleeper").toString().contains("AGENT_SIGNALED"));
        if (agent) {
            eventually()
                    .until(() -> homeostat.events("process/sleeper").toString().contains("CRASHED"));
            List<String> events = homeostat.events("process/sleeper").stream()
                    .map(event -> event.split(" ", 2)[0])
                    .toList();
            assertTrue(events.indexOf("AGENT_SIGNALED") < events.indexOf("CRASHED"), events::toString);
        }
    }
}
