package io.homeostat.reconcile.runtime.kata;

import static io.homeostat.reconcile.runtime.kata.KataScene.APP;
import static io.homeostat.reconcile.runtime.kata.KataScene.APP_LAUNCH;
import static io.homeostat.reconcile.runtime.kata.KataScene.BOOTED;
import static io.homeostat.reconcile.runtime.kata.KataScene.START;
import static io.homeostat.reconcile.runtime.kata.KataScene.container;
import static io.homeostat.reconcile.runtime.kata.KataScene.containerIdentity;
import static io.homeostat.reconcile.runtime.kata.KataScene.ended;
import static io.homeostat.reconcile.runtime.kata.KataScene.eventually;
import static io.homeostat.reconcile.runtime.kata.KataScene.running;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableSet;
import io.grpc.Status;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.desired.state.Identity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.observe.ObservedInstance.Deviation;
import io.homeostat.observe.ObservedInstance.Liveness;
import io.homeostat.observe.Observer.Checks;
import io.homeostat.observe.guest.UnreachableGuest.Reason;
import io.homeostat.observe.health.Health;
import io.homeostat.observe.health.Health.Verdict;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What is seen of a container, by an agent of ours that takes its end and by a command that only looks. */
@Timeout(120)
class ContainerObserverTest extends ContainerTestBed {
    private static final Checks CHECKS = instance -> container().spec();
    private static final Exit EXIT = new Exit(3, null, Exit.Reason.EXITED, START);

    private ContainerObserver observer;
    private ContainerObserver looking;

    @BeforeEach
    void setUp() throws Exception {
        observer = scene.closed(new ContainerObserver(scene.machine(), containers));
        looking =
                scene.closed(new ContainerObserver(scene.machineToLookAt(), scene.containers(scene.machineToLookAt())));
    }

    private Liveness look() {
        return scene.liveness(observer, APP, CHECKS);
    }

    private Liveness lookOnly() {
        return scene.liveness(looking, APP, CHECKS);
    }

    private static Verdict verdict(Liveness liveness) {
        return Objects.requireNonNull(running(liveness).health()).verdict();
    }

    private Instance started() throws Exception {
        return scene.runningContainer(container());
    }

    @Test
    void aContainerWithProcessesRuns() throws Exception {
        Instance instance = started();
        scene.setNow(START.plusSeconds(60));

        ObservedInstance seen = scene.observed(observer, APP, CHECKS);

        assertEquals(instance, seen.instance());
        assertTrue(seen.remembered());
        assertEquals(
                new Liveness.Running(
                        containerIdentity(true),
                        Duration.ofSeconds(60),
                        true,
                        Health.healthy(START.plusSeconds(60)),
                        ImmutableSet.of(),
                        Deviation.NONE),
                seen.liveness());
        assertTrue(containers.follower(instance).isPresent());
        assertNull(running(scene.liveness(observer, APP, Checks.NONE)).health());
    }

    @Test
    void whoeverOnlyLooksSeesThatItRunsAndTakesNothing() throws Exception {
        started();

        assertEquals(Verdict.HEALTHY, verdict(lookOnly()));
        assertEquals(0, guest.count("ReadStdout"));
    }

    @Test
    void aLaunchWhoseEndIsStoredIsOver() throws Exception {
        scene.remember(started().withPhase(Phase.ENDED, ""));

        assertEquals(ended(Exit.Reason.UNKNOWN, START), look());
        assertEquals(0, guest.methods().size());
    }

    @Test
    void aLaunchThatIsBeingMadeIsWaitedFor() throws Exception {
        started();
        containers.guests().begun().begin(APP_LAUNCH);

        assertEquals(new Liveness.Pending(), look());
    }

    @Test
    void anEndThatIsNotedIsKnown() throws Exception {
        scene.containerNotes().writeExit(started(), EXIT);

        assertEquals(new Liveness.Ended(EXIT), look());
        assertFalse(scene.app().isFreed());
        assertEquals(0, guest.methods().size());
    }

    @Test
    void anEndBeforeTheStartFreesTheGuest() throws Exception {
        scene.containerNotes().writeExit(interrupted(true), EXIT);

        assertEquals(new Liveness.Ended(EXIT), lookOnly());
        assertFalse(scene.app().isFreed());

        assertEquals(new Liveness.Ended(EXIT), look());
        assertTrue(scene.app().isFreed());
    }

    @Test
    void anEndThatCannotBeReadIsNotSeen() throws Exception {
        scene.block(started(), "exit.json");

        assertTrue(scene.isUnseen(observer, APP));
    }

    @Test
    void whatWasStoppedIsNotAskedAgain() throws Exception {
        scene.mark(started(), "ended");

        assertEquals(ended(Exit.Reason.STOPPED, START), look());
        assertEquals(0, guest.methods().size());
    }

    @Test
    void aLaunchThatNoGuestWasAskedForHasEnded() {
        scene.remember(scene.intended(container(), APP_LAUNCH));

        assertEquals(ended(Exit.Reason.UNKNOWN, START), look());
    }

    @Test
    void inAnotherBootOfThisHostNothingIsLeft() throws Exception {
        scene.launched(container(), APP_LAUNCH, new Identity.Container(KataScene.ENDPOINT, APP_LAUNCH, true, "other"));

        assertEquals(ended(Exit.Reason.GUEST_GONE, BOOTED), look());
    }

    @Test
    void aLaunchOfWhichOnlyTheNoteIsLeftIsFound() throws Exception {
        started();
        scene.forget(APP);

        ObservedInstance seen = scene.observed(observer, APP, CHECKS);

        assertFalse(seen.remembered());
        assertEquals(containerIdentity(true), running(seen.liveness()).identity());
    }

    @Test
    void aStartThatIsNotedAndNotStoredIsKnown() throws Exception {
        Instance instance = started();
        scene.remember(instance.withIdentity(containerIdentity(false)));

        assertEquals(Verdict.HEALTHY, verdict(look()));
    }

    /** One of which it is not known whether it was started. */
    private Instance interrupted(boolean isThere) throws ActuationFailure {
        scene.runningContainer(container());
        if (!isThere) {
            scene.agent().containers().clear();
        }
        return scene.launched(container(), APP_LAUNCH, containerIdentity(false));
    }

    @Test
    void anInterruptedLaunchThatIsThereIsEndedAndNotStartedTwice() throws Exception {
        interrupted(true);

        assertEquals(new Liveness.Orphaned(new Exit(null, null, Exit.Reason.UNKNOWN, START), 1), look());
        assertFalse(scene.app().isFreed());
    }

    @Test
    void anInterruptedLaunchThatIsNotThereHasEnded() throws Exception {
        interrupted(false);

        assertEquals(ended(Exit.Reason.UNKNOWN, START), look());
    }

    @Test
    void ofAnInterruptedLaunchInAGuestThatHangsNothingIsSeenAndTheGuestIsFreed() throws Exception {
        interrupted(true);
        guest.silence("UpdateContainer");

        assertTrue(scene.isUnseen(observer, APP));

        assertTrue(scene.app().isFreed());
    }

    @Test
    void whoeverOnlyLooksFreesNothing() throws Exception {
        interrupted(true);
        guest.silence("UpdateContainer");
        scene.timing().pass();

        assertTrue(scene.isUnseen(looking, APP));

        assertFalse(scene.app().isFreed());
        assertEquals(Duration.ofSeconds(2).toNanos(), scene.timing().read());
    }

    @Test
    void anInterruptedLaunchWhoseSandboxHasEndedHasEndedWithIt() throws Exception {
        interrupted(true);
        guest.vanish(Reason.REFUSED);
        assertTrue(scene.isUnseen(observer, APP));

        scene.mark(sandbox, "ended");
        assertEquals(ended(Exit.Reason.UNKNOWN, START), look());
    }

    @Test
    void anInterruptedLaunchInAGuestThatCannotBeAskedIsNotSeen() throws Exception {
        interrupted(true);
        scene.mark(sandbox, "ended");
        guest.vanish(Reason.NOT_ALLOWED);

        assertTrue(scene.isUnseen(observer, APP));
    }

    @Test
    void whoeverOnlyLooksWaitsForTheNewsOfAStart() throws Exception {
        Instance instance = interrupted(true);
        scene.timing().pass();
        scene.timing().atNextSleep(() -> {});
        scene.timing().atNextSleep(() -> write(instance.withIdentity(containerIdentity(true))));

        assertEquals(Verdict.HEALTHY, verdict(lookOnly()));

        assertEquals(Duration.ofMillis(40).toNanos(), scene.timing().read());
    }

    private void write(Instance instance) {
        try {
            scene.launches().write(instance);
        } catch (ActuationFailure e) {
            throw new IllegalStateException(e);
        }
    }

    private void writeExit(Instance instance) {
        try {
            scene.containerNotes().writeExit(instance, EXIT);
        } catch (ActuationFailure e) {
            throw new IllegalStateException(e);
        }
    }

    private void markEnded(Instance instance) {
        try {
            scene.mark(instance, "ended");
        } catch (ActuationFailure e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void whoeverOnlyLooksWaitsForTheNewsOfAnEnd() throws Exception {
        Instance instance = interrupted(true);
        scene.timing().pass();
        scene.timing().atNextSleep(() -> writeExit(instance));

        assertEquals(new Liveness.Ended(EXIT), lookOnly());
    }

    @Test
    void whoeverOnlyLooksWaitsForTheNewsOfAStop() throws Exception {
        Instance instance = interrupted(true);
        scene.timing().pass();
        scene.timing().atNextSleep(() -> markEnded(instance));

        assertEquals(ended(Exit.Reason.STOPPED, START), lookOnly());
    }

    @Test
    void withoutNewsWhoeverOnlyLooksAsksTheGuest() throws Exception {
        interrupted(false);
        scene.timing().pass();

        assertEquals(ended(Exit.Reason.UNKNOWN, START), lookOnly());

        assertEquals(Duration.ofSeconds(2).toNanos(), scene.timing().read());
    }

    private void endProcesses() {
        scene.app().count(stats -> stats.getPidsStatsBuilder().setCurrent(0));
    }

    @Test
    void aContainerWithoutProcessesRunsUntilItsEndIsTold() throws Exception {
        started();
        endProcesses();

        Liveness.Running seen = running(look());

        assertNull(seen.health(), "nobody can answer in it");
    }

    @Test
    void theEndThatItsFollowerHasTakenIsTold() throws Exception {
        Instance instance = started();
        scene.app().first().exit(3);

        eventually().until(() -> look().equals(new Liveness.Ended(EXIT)));

        assertEquals(EXIT, scene.containerNotes().exit(instance).orElseThrow());
    }

    @Test
    void anEndThatNobodyCanTellIsNotKnown() throws Exception {
        Instance instance = started();
        guest.refuse("WaitProcess", Status.INTERNAL, "Invalid container id");
        scene.app().first().exit(3);
        endProcesses();
        assertTrue(containers
                .follow(instance, containerIdentity(true))
                .orElseThrow()
                .awaitEnd(Duration.ofSeconds(1)));

        assertEquals(ended(Exit.Reason.UNKNOWN, START), look());
    }

    @Test
    void whoeverOnlyLooksWaitsForTheNewsOfWhatHasNoProcesses() throws Exception {
        Instance instance = started();
        endProcesses();
        scene.timing().pass();
        scene.timing().atNextSleep(() -> {});
        scene.timing().atNextSleep(() -> writeExit(instance));

        assertEquals(new Liveness.Ended(EXIT), lookOnly());
    }

    @Test
    void withoutNewsOfWhatHasNoProcessesItsEndIsNotKnown() throws Exception {
        started();
        endProcesses();
        scene.timing().pass();

        assertEquals(ended(Exit.Reason.UNKNOWN, START), lookOnly());

        assertEquals(Duration.ofSeconds(2).toNanos(), scene.timing().read());
    }

    @ParameterizedTest
    @EnumSource(
            value = Reason.class,
            names = {"NO_SOCKET", "REFUSED", "NOT_UP", "NO_SUCH_GUEST", "NO_ANSWER"})
    void aGuestThatCannotBeReachedIsTheAffairOfItsSandbox(Reason reason) throws Exception {
        started();
        guest.vanish(reason);

        assertEquals(Verdict.DEGRADED, verdict(look()));
    }

    @ParameterizedTest
    @EnumSource(
            value = Reason.class,
            names = {"WRONG_PROTOCOL", "NO_VSOCK", "NOT_ALLOWED", "NOT_TRIED"})
    void ofAGuestThatCannotBeAskedNothingIsSeen(Reason reason) throws Exception {
        started();
        guest.vanish(reason);

        assertTrue(scene.isUnseen(observer, APP));
    }

    @Test
    void aGuestThatDoesNotTellIsNoReasonToLaunchAgain() throws Exception {
        started();
        guest.silence("StatsContainer");

        assertEquals(Verdict.DEGRADED, verdict(look()));
    }

    @Test
    void whoeverWaitsForAnEndHearsOfIt() throws Exception {
        Instance instance = started();
        AtomicInteger told = new AtomicInteger();
        assertEquals(Verdict.HEALTHY, verdict(look()));
        observer.watch(instance, told::incrementAndGet);

        scene.app().first().exit(0);

        eventually().until(() -> told.get() == 1);
    }

    @Test
    void whoeverIsInterruptedSeesNothing() throws Exception {
        interrupted(true);
        Thread.currentThread().interrupt();

        assertTrue(scene.isUnseen(looking, APP));
        assertTrue(Thread.interrupted());
    }

    @ParameterizedTest
    @ValueSource(strings = {"SIGTERM", "SIGKILL"})
    void aLookAtWhatWasKilledTellsHowItHasEnded(String signal) throws Exception {
        Instance instance = started();
        assertEquals(Verdict.HEALTHY, verdict(look()));

        new ContainerRuntime(scene.machine(), containers)
                .prepareSignal(instance, signal)
                .send();

        Exit killed = new Exit(137, 9, Exit.Reason.SIGNALED, START);
        eventually().until(() -> look().equals(new Liveness.Ended(killed)));
    }
}
