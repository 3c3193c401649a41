package io.homeostat.e2e;

import static io.homeostat.e2e.Patience.eventually;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.stream.Stream;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * kill -9 of the agent at each point of a container's life between two effects: after that there is one container, none was started twice,
 * and nothing is left of those before. One at a time: a program that is debugged starts slowly.
 */
@Tag("nightly")
@Execution(ExecutionMode.SAME_THREAD)
final class ContainerKillPointsTest {
    private static final String SANDBOX = "sandbox/guest";
    private static final String APP = "container/app";
    private static final String KATA = "io.homeostat.reconcile.runtime.kata.";
    private static final String LAUNCHES = "io.homeostat.actuate.launch.LaunchDirectories.";

    @RegisterExtension
    @Order(1)
    final Guest guest = new Guest();

    @RegisterExtension
    @Order(2)
    final Homeostat homeostat = new Homeostat();

    private static Document app(String revision) {
        return Document.container("app", "guest", "trap 'exit 0' TERM; while :; do sleep 0.1; done")
                .with("revision", revision);
    }

    /** In the order in which a start comes to them. */
    private static Stream<Arguments> pointsOfAStart() {
        return Stream.of(
                Arguments.of("before CreateContainer", KATA + "GuestChanges.createContainer"),
                Arguments.of("before StartContainer", KATA + "GuestChanges.startContainer"),
                Arguments.of(
                        "after StartContainer, before that is noted",
                        "io.homeostat.desired.state.Identity$Container.answered"),
                Arguments.of("before it is stored", "io.homeostat.reconcile.record.Outcome.launched"));
    }

    /** In the order in which a replacement comes to them. */
    private static Stream<Arguments> pointsOfAStop() {
        return Stream.of(
                Arguments.of("before SignalProcess", KATA + "GuestChanges.signal"),
                Arguments.of("after its end was told, before that is noted", KATA + "ContainerNotes.writeExit"),
                Arguments.of("before RemoveContainer", KATA + "GuestChanges.removeContainer"),
                Arguments.of("before what it left is removed", LAUNCHES + "forget"));
    }

    @ParameterizedTest(name = "killed {0}")
    @MethodSource("pointsOfAStart")
    void aStartThatIsCutShortIsBroughtToItsEnd(String when, String point) {
        try (KillPoint kill = new KillPoint(point)) {
            homeostat.declare("guest.yaml", guest.sandbox());
            AgentProcess agent = homeostat.agent(kill);
            homeostat.awaitRunning(SANDBOX);
            kill.arm();
            homeostat.declare("app.yaml", app("1"));
            kill.await();
            agent.kill();
        }

        homeostat.agent();

        awaitOne(when);
        assertTrue(guest.fake().calls().count("CreateContainer") <= 2, when);
    }

    @Test
    void aStartThatIsCutShortIsNotForgottenWhileTheGuestsAgentIsAway() throws Exception {
        try (KillPoint kill = new KillPoint(KATA + "GuestChanges.startContainer")) {
            homeostat.declare("guest.yaml", guest.sandbox());
            AgentProcess agent = homeostat.agent(kill);
            homeostat.awaitRunning(SANDBOX);
            kill.arm();
            homeostat.declare("app.yaml", app("1"));
            kill.await();
            agent.kill();
        }
        guest.fake().stopListening();

        homeostat.agent();
        eventually().until(() -> homeostat.run("status", APP).out().contains("its guest can't be reached"));
        guest.fake().listen();

        awaitOne("and its guest was away");
    }

    @Test
    void aStartThatHangsIsFreedByWhoeverComesNext() {
        homeostat.declare("guest.yaml", guest.sandbox());
        AgentProcess agent = homeostat.agentProcess();
        homeostat.awaitRunning(SANDBOX);
        guest.agent().endBeforeStart(true);
        homeostat.declare("app.yaml", app("1").with("start.timeout", "1h"));
        eventually().until(() -> guest.fake().calls().count("StartContainer") == 1);
        agent.kill();
        guest.agent().endBeforeStart(false);

        homeostat.agent();

        awaitOne("while a start hung");
    }

    @ParameterizedTest(name = "killed {0}")
    @MethodSource("pointsOfAStop")
    void aReplacementThatIsCutShortIsBroughtToItsEnd(String when, String point) {
        try (KillPoint kill = new KillPoint(point)) {
            homeostat.declare("guest.yaml", guest.sandbox());
            homeostat.declare("app.yaml", app("1"));
            AgentProcess agent = homeostat.agent(kill);
            homeostat.awaitRunning(APP);
            kill.arm();
            homeostat.declare("app.yaml", app("2"));
            kill.await();
            agent.kill();
        }

        homeostat.agent();

        eventually().until(() -> homeostat.state(APP).equals("RUNNING 2"));
        awaitOne(when);
        assertEquals(2, guest.fake().calls().count("CreateContainer"), when);
    }

    @Test
    void anAgentThatIsKilledLosesNeitherAContainerThatRunsNorItsEnd() {
        homeostat.declare(
                "all.yaml",
                guest.sandbox(),
                Document.container("app", "guest", "trap 'echo bye; exit 7' USR1; while :; do sleep 0.1; done")
                        .with("restart.policy", "never"));
        AgentProcess agent = homeostat.agentProcess();
        homeostat.awaitRunning(APP);

        agent.kill();
        homeostat.agent();
        homeostat.awaitRunning(APP);
        assertEquals(1, guest.agent().containers().size());
        homeostat.run("signal", APP, "SIGUSR1").exits(0);

        eventually().until(() -> homeostat.status(APP).at("/lastExit/at").isTextual());
        JsonNode exit = homeostat.status(APP).get("lastExit");
        assertEquals(
                7,
                exit.get("code").asInt(),
                () -> exit + "\n" + homeostat.run("events").out());
        homeostat.run("logs", APP).says("bye");
        assertEquals(1, guest.fake().calls().count("CreateContainer"));
    }

    private void awaitOne(String when) {
        homeostat.awaitRunning(APP);
        eventually()
                .until(() -> homeostat.launches("containers/app") == 1
                        && guest.agent().containers().size() == 1);
        assertEquals(1, guest.fake().calls().count("CreateSandbox"), when);
        homeostat.run("plan", "--detailed-exitcode").exits(0);
    }
}
