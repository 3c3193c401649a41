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
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * kill -9 of the agent, or of the agent, the driver and its executors at once, at each point of a task's life between two effects: the next
 * agent goes on from what is there. The task runs once, and its end is known. One at a time: a program that is debugged starts slowly.
 */
@Tag("nightly")
@Execution(ExecutionMode.SAME_THREAD)
final class TaskKillPointsTest {
    private static final String DRIVER = "driver/runner";
    private static final String WEB = "task/web";

    private static final String ACTUATE = "io.homeostat.actuate.";
    private static final String TASK = "io.homeostat.reconcile.runtime.task.";
    private static final String SESSION = "io.homeostat.observe.driver.DriverSession.";

    /** Both ways at each point, which takes twice as long. */
    private static final boolean EVERYTHING = Boolean.getBoolean("killPoints.all");

    @TempDir
    static Path directory;

    private static SampleDriver sample;

    @RegisterExtension
    final Homeostat homeostat = new Homeostat();

    private enum Killed {
        AGENT,
        ALL
    }

    @BeforeAll
    static void unpack() {
        sample = SampleDriver.in(directory);
    }

    /** In the order in which a start comes to them. */
    private static Stream<Arguments> pointsOfAStart() {
        return times(
                Arguments.of("before its control groups", ACTUATE + "limits.TaskGroups.prepare"),
                Arguments.of("after its control groups", ACTUATE + "task.TaskDirectories.prepare"),
                Arguments.of("before StartTask", SESSION + "startTask"),
                Arguments.of("after StartTask, before its handle is noted", TASK + "FailedStarts.succeeded"),
                Arguments.of("after its handle is noted", TASK + "UnansweredStarts.answered"),
                Arguments.of("before it is stored", "io.homeostat.reconcile.record.Outcome.launched"));
    }

    /** In the order in which a replacement comes to them. */
    private static Stream<Arguments> pointsOfAStop() {
        return times(
                Arguments.of("before StopTask", SESSION + "stopTask"),
                Arguments.of("after StopTask, before its groups are emptied", ACTUATE + "limits.TaskGroups.kill"),
                Arguments.of("before DestroyTask", SESSION + "destroyTask"),
                Arguments.of("after DestroyTask, before the note of it", TASK + "Tasks.forgottenNote"),
                Arguments.of("before what it left is removed", ACTUATE + "launch.LaunchDirectories.forget"));
    }

    /** The same, of what is not stopped. */
    private static Stream<Arguments> pointsAfterAnEnd() {
        return pointsOfAStop().skip(EVERYTHING ? Killed.values().length : 1);
    }

    /** By turns the agent alone and all of them. */
    private static Stream<Arguments> times(Arguments... points) {
        return IntStream.range(0, points.length)
                .boxed()
                .flatMap(index -> Stream.of(Killed.values())
                        .filter(killed -> EVERYTHING || killed.ordinal() == index % Killed.values().length)
                        .map(killed -> Arguments.of(
                                points[index].get()[0], points[index].get()[1], killed)));
    }

    @ParameterizedTest(name = "{2} killed {0}")
    @MethodSource("pointsOfAStart")
    void aStartThatIsCutShortIsBroughtToItsEnd(String when, String point, Killed killed) throws IOException {
        Path starts = homeostat.directory().resolve("starts");
        try (KillPoint kill = new KillPoint(point)) {
            AgentProcess agent = agent(kill);
            kill.arm();
            homeostat.declare("web.yaml", web(starts, "exec sleep 1000"));
            kill.await();
            kill(agent, killed);
        }

        homeostat.agent();

        awaitOne(starts);
        assertTrue(Files.readAllLines(starts).size() <= 2, when);
        JsonNode status = homeostat.status(WEB);
        assertTrue(status.get("restarts").asInt() <= 1, status::toString);
    }

    @ParameterizedTest(name = "{2} killed {0}")
    @MethodSource("pointsOfAStop")
    void aReplacementThatIsCutShortIsBroughtToItsEnd(String when, String point, Killed killed) throws IOException {
        Path starts = homeostat.directory().resolve("starts");
        long former;
        try (KillPoint kill = new KillPoint(point)) {
            AgentProcess agent = agent(kill);
            homeostat.declare("web.yaml", web(starts, "exec sleep 1000"));
            homeostat.awaitRunning(WEB);
            former = homeostat.process(WEB);
            kill.arm();
            homeostat.declare("web.yaml", web(starts, "exec sleep 2000"));
            kill.await();
            kill(agent, killed);
        }

        homeostat.agent();

        homeostat.awaitAnother(WEB, former);
        awaitOne(starts);
        assertFalse(Processes.isAlive(former), when);
        assertEquals(2, Files.readAllLines(starts).size(), when);
        // Of the launch before nothing is left.
        eventually()
                .until(() -> homeostat.launches("tasks/web") == 1
                        && homeostat.run("status", WEB).exit() == 0);
    }

    @ParameterizedTest(name = "{2} killed {0}")
    @MethodSource("pointsAfterAnEnd")
    void howItEndedIsKnownWhenWhatComesAfterItsEndIsCutShort(String when, String point, Killed killed)
            throws IOException {
        Path starts = homeostat.directory().resolve("starts");
        Path go = homeostat.directory().resolve("go");
        long former;
        try (KillPoint kill = new KillPoint(point)) {
            AgentProcess agent = agent(kill);
            homeostat.declare(
                    "web.yaml", web(starts, "while [ ! -e " + go + " ]; do sleep 0.1; done; rm " + go + "; exit 7"));
            homeostat.awaitRunning(WEB);
            former = Long.parseLong(Files.readAllLines(starts).getFirst());
            kill.arm();
            homeostat.file("go", "");
            kill.await();
            kill(agent, killed);
        }

        homeostat.agent();

        homeostat.awaitRunning(WEB);
        eventually().until(() -> Files.readAllLines(starts).size() == 2);
        assertFalse(Processes.isAlive(former), when);
        JsonNode exit = homeostat.status(WEB).get("lastExit");
        assertEquals(7, exit.get("code").asInt(), exit::toString);
        assertEquals(1, homeostat.status(WEB).get("restarts").asInt(), when);
        eventually().until(() -> homeostat.launches("tasks/web") == 1);
    }

    private AgentProcess agent(KillPoint kill) {
        homeostat.declare("driver.yaml", sample.local("runner", "1").with("env.JAVA_TOOL_OPTIONS", "-Dsample=driver"));
        AgentProcess agent = homeostat.agent(kill);
        homeostat.awaitRunning(DRIVER);
        return agent;
    }

    private static Document web(Path starts, String script) {
        return Document.task("web", "runner", "echo $$ >> " + starts + "; " + script);
    }

    private void kill(AgentProcess agent, Killed killed) {
        if (killed == Killed.ALL) {
            // Executors are sessions of their own; their tasks go on without them.
            Set<Long> executors = homeostat.processes(WEB).stream()
                    .map(process -> Processes.parent(process.pid()))
                    .filter(parent -> Processes.command(parent).startsWith("perl"))
                    .collect(Collectors.toSet());
            agent.kill();
            Processes.kill(homeostat.process(DRIVER));
            executors.forEach(Processes::kill);
        } else {
            agent.kill();
        }
    }

    /** Fails when there are two at any time. */
    private void awaitOne(Path starts) {
        eventually().until(() -> {
            List<Processes.Seen> alive = homeostat.processes(WEB).stream()
                    .filter(process -> process.command().startsWith("sleep"))
                    .toList();
            assertTrue(alive.size() <= 1, alive::toString);
            return alive.size() == 1 && homeostat.state(WEB).startsWith("RUNNING");
        });
        eventually().until(() -> homeostat.run("status", WEB).exit() == 0);
        assertTrue(Files.exists(starts));
    }
}
