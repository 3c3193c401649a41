package io.homeostat.reconcile.runtime.kata;

import static io.homeostat.reconcile.runtime.kata.KataScene.APP;
import static io.homeostat.reconcile.runtime.kata.KataScene.START;
import static io.homeostat.reconcile.runtime.kata.KataScene.container;
import static io.homeostat.reconcile.runtime.kata.KataScene.ended;
import static io.homeostat.reconcile.runtime.kata.KataScene.running;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.grpc.Status;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.observe.ObservedInstance.Liveness;
import io.homeostat.observe.Observer.Checks;
import io.homeostat.observe.health.Health.Verdict;
import java.util.Objects;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What is seen of a container that its guest does not know: whether that is evidence of its end depends on who answers. */
@Timeout(120)
class UnknownContainerTest extends KataTestBed {
    private static final Checks CHECKS = instance -> container().spec();

    private MemoryGuest guest;
    private Instance sandbox;
    private ContainerObserver looking;

    @BeforeEach
    void setUp() throws Exception {
        guest = scene.guest();
        sandbox = scene.runningSandbox();
        looking =
                scene.closed(new ContainerObserver(scene.machineToLookAt(), scene.containers(scene.machineToLookAt())));
        scene.runningContainer(container());
        scene.agent().containers().clear();
    }

    private Liveness look() {
        return scene.liveness(looking, APP, CHECKS);
    }

    private static Verdict verdict(Liveness liveness) {
        return Objects.requireNonNull(running(liveness).health()).verdict();
    }

    @Test
    void aContainerThatItsGuestDoesNotKnowWasRemovedBySomebody() {
        assertEquals(ended(Exit.Reason.UNKNOWN, START), look());
    }

    @Test
    void aContainerIsGoneWithTheBootOfItsGuest() throws Exception {
        scene.agent().reboot();

        assertEquals(ended(Exit.Reason.GUEST_BOOTED, START), look());
    }

    @Test
    void aContainerThatAnotherAgentDoesNotKnowMayRun() throws Exception {
        scene.sandboxNotes().writeScrapes(sandbox, 1);

        assertEquals(Verdict.DEGRADED, verdict(look()));
        assertEquals(ended(Exit.Reason.UNKNOWN, START), look(), "it has gone on counting");
    }

    @Test
    void thatAnotherAgentAnswersIsKnownByItsSandbox() throws Exception {
        scene.mark(sandbox, "agent-lost");

        assertEquals(Verdict.DEGRADED, verdict(look()));
        assertEquals(0, guest.count("GetMetrics"));
    }

    @Test
    void anAgentThatDoesNotCountIsNotTakenForAnotherOne() throws Exception {
        scene.sandboxNotes().writeScrapes(sandbox, 1);
        scene.agent().tellMetrics("");
        assertEquals(ended(Exit.Reason.UNKNOWN, START), look());

        guest.refuse("GetMetrics", Status.INTERNAL);
        assertEquals(ended(Exit.Reason.UNKNOWN, START), look());
    }

    @Test
    void aContainerWhoseSandboxIsForgottenIsNotLeftToAnotherAgent() throws Exception {
        scene.forget(KataScene.GUEST);

        assertEquals(ended(Exit.Reason.UNKNOWN, START), look());
        assertEquals(0, guest.count("GetMetrics"));
    }

    @Test
    void aGuestThatDoesNotSayWhetherItIsASandboxIsNoEvidence() throws Exception {
        guest.silence("GetVolumeStats");

        assertEquals(Verdict.DEGRADED, verdict(look()));
    }
}
