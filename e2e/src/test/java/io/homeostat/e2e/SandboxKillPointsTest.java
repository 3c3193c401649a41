package io.homeostat.e2e;

import static io.homeostat.e2e.Patience.eventually;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * kill -9 of the agent at each point of a sandbox's life between two effects: the next agent goes on from what the guest says, and in no boot
 * is a guest asked twice for a sandbox. One at a time: a program that is debugged starts slowly.
 */
@Tag("nightly")
@Execution(ExecutionMode.SAME_THREAD)
final class SandboxKillPointsTest {
    private static final String SANDBOX = "sandbox/guest";
    private static final String KATA = "io.homeostat.reconcile.runtime.kata.";
    private static final String LAUNCHES = "io.homeostat.actuate.launch.LaunchDirectories.";

    @RegisterExtension
    @Order(1)
    final Guest guest = new Guest();

    @RegisterExtension
    @Order(2)
    final Homeostat homeostat = new Homeostat();

    @BeforeEach
    void boot() {
        guest.agent().plugIn("eth0", "02:00:00:00:00:01");
        guest.fake().bootAgain();
    }

    private Document sandbox(String hostname) {
        return guest.sandbox()
                .with("hostname", hostname)
                .with(
                        "neighbors",
                        List.of(Map.of("address", "10.0.0.1", "lladdr", "02:00:00:00:00:02", "device", "eth0")));
    }

    /** In the order in which a start comes to them. */
    private static Stream<Arguments> pointsOfAStart() {
        return Stream.of(
                Arguments.of("before its network", KATA + "GuestChanges.addNeighbors"),
                Arguments.of("before it is noted", LAUNCHES + "write"),
                Arguments.of("before CreateSandbox", KATA + "GuestChanges.createSandbox"),
                Arguments.of(
                        "after CreateSandbox, before that is noted",
                        "io.homeostat.desired.state.Identity$Sandbox.answered"),
                Arguments.of("after that is noted", KATA + "Contact.made"),
                Arguments.of("before it is stored", "io.homeostat.reconcile.record.Outcome.launched"));
    }

    /** In the order in which a replacement comes to them. */
    private static Stream<Arguments> pointsOfAStop() {
        return Stream.of(
                Arguments.of("before DestroySandbox", KATA + "GuestChanges.destroySandbox"),
                Arguments.of("before its end is noted", LAUNCHES + "mark"),
                Arguments.of("before what it left is removed", LAUNCHES + "forget"));
    }

    @ParameterizedTest(name = "killed {0}")
    @MethodSource("pointsOfAStart")
    void aStartThatIsCutShortIsBroughtToItsEnd(String when, String point) {
        try (KillPoint kill = new KillPoint(point)) {
            AgentProcess agent = homeostat.agent(kill);
            kill.arm();
            homeostat.declare("guest.yaml", sandbox("one"));
            kill.await();
            agent.kill();
        }

        homeostat.agent();

        homeostat.awaitRunning(SANDBOX);
        assertTrue(guest.agent().hasSandbox(), when);
        assertEquals(1, guest.fake().calls().mostInOneBoot("CreateSandbox"), when);
        eventually().until(() -> homeostat.launches("sandboxes/guest") == 1);
    }

    @ParameterizedTest(name = "killed {0}")
    @MethodSource("pointsOfAStop")
    void aReplacementThatIsCutShortIsBroughtToItsEnd(String when, String point) {
        try (KillPoint kill = new KillPoint(point)) {
            AgentProcess agent = homeostat.agent(kill);
            homeostat.declare("guest.yaml", sandbox("one"));
            homeostat.awaitRunning(SANDBOX);
            kill.arm();
            homeostat.declare("guest.yaml", sandbox("two"));
            kill.await();
            agent.kill();
        }

        homeostat.agent();

        homeostat.awaitRunning(SANDBOX);
        assertTrue(guest.agent().hasSandbox(), when);
        assertEquals(1, guest.fake().calls().mostInOneBoot("CreateSandbox"), when);
        assertEquals(2, guest.fake().calls().count("CreateSandbox"), when);
        eventually().until(() -> homeostat.launches("sandboxes/guest") == 1);
    }
}
