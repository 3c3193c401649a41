package io.homeostat.reconcile.runtime.kata;

import static io.homeostat.reconcile.runtime.kata.KataScene.BOOTED;
import static io.homeostat.reconcile.runtime.kata.KataScene.ENDPOINT;
import static io.homeostat.reconcile.runtime.kata.KataScene.GUEST;
import static io.homeostat.reconcile.runtime.kata.KataScene.SANDBOX_LAUNCH;
import static io.homeostat.reconcile.runtime.kata.KataScene.START;
import static io.homeostat.reconcile.runtime.kata.KataScene.ended;
import static io.homeostat.reconcile.runtime.kata.KataScene.running;
import static io.homeostat.reconcile.runtime.kata.KataScene.sandbox;
import static io.homeostat.reconcile.runtime.kata.KataScene.sandboxIdentity;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.grpc.Status;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.SandboxSpec;
import io.homeostat.desired.state.Identity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.observe.ObservedInstance.Deviation;
import io.homeostat.observe.ObservedInstance.Liveness;
import io.homeostat.observe.ObservedInstance.Loss;
import io.homeostat.observe.Observer.Checks;
import io.homeostat.observe.guest.UnreachableGuest.Reason;
import io.homeostat.observe.health.Health;
import io.homeostat.observe.health.Health.Verdict;
import io.homeostat.proto.kata.types.Interface;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.EnumSource.Mode;
import org.junit.jupiter.params.provider.ValueSource;

/** What is seen of a sandbox, and what no answer of its guest is evidence of. */
@Timeout(120)
class SandboxObserverTest extends KataTestBed {
    private static final Checks CHECKS = instance -> sandbox().spec();

    private MemoryGuest guest;
    private Guests guests;
    private SandboxObserver observer;

    @BeforeEach
    void setUp() throws Exception {
        guest = scene.guest();
        guests = scene.guests(scene.machine(), Kind.SANDBOX);
        observer = new SandboxObserver(scene.machine(), guests);
    }

    private Liveness look() {
        return scene.liveness(observer, GUEST, CHECKS);
    }

    private Health health() {
        return Objects.requireNonNull(running(look()).health());
    }

    private void assertDegraded() {
        assertEquals(Verdict.DEGRADED, health().verdict());
        assertEquals(ImmutableSet.of(), running(look()).lost());
    }

    @Test
    void aSandboxThatAnswersIsHealthy() throws Exception {
        Instance instance = scene.runningSandbox();
        scene.setNow(START.plusSeconds(60));

        ObservedInstance seen = scene.observed(observer, GUEST, CHECKS);

        assertEquals(instance, seen.instance());
        assertTrue(seen.remembered());
        assertEquals(
                new Liveness.Running(
                        sandboxIdentity(0),
                        Duration.ofSeconds(60),
                        true,
                        Health.healthy(START.plusSeconds(60)),
                        ImmutableSet.of(),
                        Deviation.NONE),
                seen.liveness());
        assertEquals(instance, guests.contact(SANDBOX_LAUNCH).reached().orElseThrow());
    }

    @Test
    void itsHealthIsToldOnlyToThoseWhoAskForIt() throws Exception {
        scene.runningSandbox();

        assertNull(running(scene.liveness(observer, GUEST, Checks.NONE)).health());
    }

    @Test
    void aLaunchWhoseEndIsStoredIsOver() throws Exception {
        scene.remember(scene.runningSandbox().withPhase(Phase.ENDED, ""));

        assertEquals(ended(Exit.Reason.UNKNOWN, START), look());
        assertEquals(0, guest.methods().size());
    }

    @Test
    void aLaunchThatIsBeingMadeIsWaitedFor() throws Exception {
        scene.runningSandbox();
        guests.begun().begin(SANDBOX_LAUNCH);

        assertEquals(new Liveness.Pending(), look());

        guests.begun().end(SANDBOX_LAUNCH);
        assertEquals(Verdict.HEALTHY, health().verdict());
    }

    @Test
    void whatWasStoppedIsNotAskedAgain() throws Exception {
        scene.mark(scene.runningSandbox(), "ended");

        assertEquals(ended(Exit.Reason.STOPPED, START), look());
        assertEquals(0, guest.methods().size());
    }

    @Test
    void theSandboxBeforeTheOneThatIsThereHasEndedWithTheBoot() throws Exception {
        scene.mark(scene.runningSandbox(), "guest-booted");

        assertEquals(ended(Exit.Reason.GUEST_BOOTED, START), look());
        assertEquals(0, guest.methods().size());
    }

    @Test
    void aLaunchThatNoGuestWasAskedForHasEnded() {
        scene.remember(scene.intended(sandbox(), SANDBOX_LAUNCH));

        assertEquals(ended(Exit.Reason.UNKNOWN, START), look());
    }

    @Test
    void inAnotherBootOfThisHostNothingIsLeft() throws Exception {
        scene.launched(sandbox(), SANDBOX_LAUNCH, new Identity.Sandbox(ENDPOINT, 0, true, "another"));
        scene.agent().haveSandbox(true);

        assertEquals(ended(Exit.Reason.GUEST_GONE, BOOTED), look());
        assertEquals(0, guest.methods().size());
    }

    @Test
    void aLaunchOfWhichOnlyTheNoteIsLeftIsFound() throws Exception {
        scene.runningSandbox();
        scene.forget(GUEST);

        ObservedInstance seen = scene.observed(observer, GUEST, CHECKS);

        assertFalse(seen.remembered());
        assertEquals(sandboxIdentity(0), running(seen.liveness()).identity());
    }

    private Instance interrupted() throws Exception {
        Instance instance = scene.remember(scene.intended(sandbox(), SANDBOX_LAUNCH));
        scene.launches().write(instance.withIdentity(new Identity.Sandbox(ENDPOINT, 0, false, KataScene.BOOT)));
        return instance;
    }

    @Test
    void aLaunchThatWasInterruptedAfterTheGuestHasMadeItIsEndedAndNotGoneOnWith() throws Exception {
        Instance instance = interrupted();
        scene.agent().haveSandbox(true);

        ObservedInstance seen = scene.observed(observer, GUEST, CHECKS);

        assertEquals(new Liveness.Orphaned(new Exit(null, null, Exit.Reason.UNKNOWN, START), 1), seen.liveness());
        assertEquals(
                new Identity.Sandbox(ENDPOINT, 0, false, KataScene.BOOT),
                seen.instance().identity());
        assertNull(instance.identity());
    }

    @Test
    void aLaunchThatWasInterruptedBeforeTheGuestHasMadeItHasEnded() throws Exception {
        interrupted();

        assertEquals(ended(Exit.Reason.UNKNOWN, START), look());
        assertNull(scene.observed(observer, GUEST, CHECKS).instance().identity());
    }

    @Test
    void ofAnInterruptedLaunchInAGuestThatDoesNotSayItIsNotKnownHowFarItIs() throws Exception {
        interrupted();
        guest.refuse("GetVolumeStats", Status.INTERNAL);

        assertDegraded();
    }

    @Test
    void anInterruptedLaunchInAGuestThatIsGoneHasEnded() throws Exception {
        interrupted();
        guest.vanish(Reason.NO_SOCKET);

        assertEquals(ended(Exit.Reason.UNKNOWN, START), look());
    }

    @Test
    void anInterruptedLaunchInAGuestThatCannotBeReachedIsNotSeen() throws Exception {
        interrupted();
        guest.vanish(Reason.NOT_ALLOWED);

        assertTrue(scene.isUnseen(observer, GUEST));
    }

    @ParameterizedTest
    @EnumSource(
            value = Reason.class,
            names = {"NO_SOCKET", "REFUSED", "NOT_UP", "NO_SUCH_GUEST"})
    void aGuestInWhichNobodyListensIsGone(Reason reason) throws Exception {
        scene.runningSandbox();
        guest.vanish(reason);

        assertEquals(Verdict.GONE, health().verdict());
    }

    @Test
    void aGuestThatDoesNotAnswerIsNotGone() throws Exception {
        scene.runningSandbox();
        guest.vanish(Reason.NO_ANSWER);

        assertDegraded();
    }

    @ParameterizedTest
    @EnumSource(
            value = Reason.class,
            mode = Mode.INCLUDE,
            names = {"WRONG_PROTOCOL", "NO_VSOCK", "NOT_ALLOWED", "NOT_TRIED"})
    void ofAGuestThatCannotBeAskedNothingIsSeen(Reason reason) throws Exception {
        scene.runningSandbox();
        guest.vanish(reason);

        assertTrue(scene.isUnseen(observer, GUEST));
    }

    @ParameterizedTest
    @ValueSource(strings = {"Check", "UpdateContainer", "GetVolumeStats"})
    void aGuestThatIsSilentIsDegradedAndItsClockIsSetOnceItAnswers(String method) throws Exception {
        Instance instance = scene.runningSandbox();
        assertEquals(Verdict.HEALTHY, health().verdict());
        assertEquals(instance, guests.contact(SANDBOX_LAUNCH).clockToSet().orElseThrow());
        guest.silence(method);

        assertDegraded();

        guest.heal(method);
        assertEquals(Verdict.HEALTHY, health().verdict());
        assertEquals(instance, guests.contact(SANDBOX_LAUNCH).clockToSet().orElseThrow());
    }

    @Test
    void theCallsThatItsGuestDoesNotAnswerAreNamed() throws Exception {
        Instance instance = scene.runningSandbox();
        guest.silence("UpdateContainer");
        String before = health().problem();
        scene.sandboxNotes().writeUnanswered(instance, Kind.CONTAINER, Optional.of("StartContainer hangs"));

        assertEquals(before + "; StartContainer hangs", health().problem());
    }

    @Test
    void aGuestThatHasNoSandboxAnyMoreHasBootedAnew() throws Exception {
        scene.runningSandbox();
        scene.agent().reboot();

        assertEquals(ended(Exit.Reason.GUEST_BOOTED, START), look());
    }

    @Test
    void anAgentThatCountsLessIsAnotherOne() throws Exception {
        scene.launched(sandbox(), SANDBOX_LAUNCH, sandboxIdentity(5));
        scene.agent().haveSandbox(true);

        Liveness.Running seen = running(look());

        assertEquals(ImmutableSet.of(Loss.GUEST_AGENT), seen.lost());
        assertEquals(Verdict.DEGRADED, Objects.requireNonNull(seen.health()).verdict());
    }

    @Test
    void anAgentThatCountsLessThanWasNotedIsAnotherOne() throws Exception {
        scene.sandboxNotes().writeScrapes(scene.runningSandbox(), 5);

        assertEquals(ImmutableSet.of(Loss.GUEST_AGENT), running(look()).lost());
    }

    @Test
    void thatAnotherAgentAnswersIsKnownFromBefore() throws Exception {
        Instance instance = scene.runningSandbox();
        scene.mark(instance, "agent-lost");

        assertEquals(ImmutableSet.of(Loss.GUEST_AGENT), running(look()).lost());
        assertTrue(guests.contact(SANDBOX_LAUNCH).lossToWrite().isEmpty());
    }

    @Test
    void aSharedNamespaceThatHasEndedIsALoss() throws Exception {
        scene.mark(scene.runningSandbox(), "shared-pids-lost");

        Liveness.Running seen = running(look());

        assertEquals(ImmutableSet.of(Loss.SHARED_PIDS), seen.lost());
        assertEquals(Verdict.DEGRADED, Objects.requireNonNull(seen.health()).verdict());
    }

    private Instance withNetwork() throws Exception {
        Instance instance = scene.runningSandbox();
        SandboxSpec spec = (SandboxSpec)
                sandbox("interfaces: [{name: eth0, hwAddr: \"02:00:00:00:00:01\", addresses: [10.0.0.2/24]}]")
                        .spec();
        scene.sandboxNotes().writeGiven(instance, spec.guest().network());
        return instance;
    }

    @Test
    void whatItsNetworkLacksCanBePutBack() throws Exception {
        withNetwork();
        scene.agent()
                .links()
                .add(Interface.newBuilder()
                        .setName("eth0")
                        .setHwAddr("02:00:00:00:00:01")
                        .build());

        Deviation deviation = running(look()).deviation();

        assertEquals(1, deviation.repairable().size());
        assertEquals(ImmutableList.of(), deviation.remarks());
    }

    @Test
    void whatItsNetworkCannotGetIsOnlyRemarked() throws Exception {
        withNetwork();

        Deviation deviation = running(look()).deviation();

        assertEquals(ImmutableList.of(), deviation.repairable());
        assertEquals(1, deviation.remarks().size());
    }

    @Test
    void aNetworkThatCannotBeReadIsOnlyRemarked() throws Exception {
        withNetwork();
        guest.refuse("ListRoutes", Status.INTERNAL);

        Deviation deviation = running(look()).deviation();

        assertEquals(ImmutableList.of(), deviation.repairable());
        assertEquals(1, deviation.remarks().size());
    }

    @Test
    void aNetworkThatNobodyDeclaresIsNotAskedFor() throws Exception {
        Instance instance = scene.runningSandbox();
        scene.sandboxNotes()
                .writeGiven(
                        instance,
                        ((SandboxSpec) sandbox(
                                                "neighbors: [{address: 10.0.0.1, lladdr: \"02:00:00:00:00:09\", device: eth0}]")
                                        .spec())
                                .guest()
                                .network());

        assertEquals(Deviation.NONE, running(look()).deviation());
        assertEquals(0, guest.count("ListInterfaces"));
    }

    @Test
    void notesThatCannotBeReadAreNoEvidence() throws Exception {
        Instance instance = scene.runningSandbox();
        scene.block(instance, "scrapes");
        assertTrue(scene.isUnseen(observer, GUEST));

        scene.block(instance, "launch.json");
        scene.remember(scene.intended(sandbox(), SANDBOX_LAUNCH));
        assertTrue(scene.isUnseen(observer, GUEST));
    }

    @Test
    void whetherItIsGoneIsAskedWithOneQuestion() throws Exception {
        Instance instance = scene.runningSandbox();

        assertFalse(observer.isGone(instance));
        assertEquals(ImmutableList.of("GetVolumeStats"), guest.methods());

        scene.agent().reboot();
        assertTrue(observer.isGone(instance));
    }

    @Test
    void aGuestThatDoesNotAnswerThatQuestionIsNotGone() throws Exception {
        Instance instance = scene.runningSandbox();
        guest.silence("GetVolumeStats");

        assertFalse(observer.isGone(instance));
    }

    @ParameterizedTest
    @ValueSource(strings = {"ended", "guest-booted"})
    void whatIsKnownToHaveEndedIsGoneWithoutAQuestion(String mark) throws Exception {
        Instance instance = scene.runningSandbox();
        scene.mark(instance, mark);

        assertTrue(observer.isGone(instance));
        assertEquals(0, guest.methods().size());
    }

    @Test
    void whatIsOverOrOfAnotherBootIsGoneWithoutAQuestion() throws Exception {
        Instance instance = scene.runningSandbox();

        assertTrue(observer.isGone(instance.withPhase(Phase.ENDED, "")));
        assertTrue(observer.isGone(instance.withIdentity(new Identity.Sandbox(ENDPOINT, 0, true, "another"))));
        assertEquals(0, guest.methods().size());
    }

    @Test
    void whatWasOnlyAskedForIsLookedAt() throws Exception {
        Instance instance = interrupted();

        assertTrue(observer.isGone(instance));
        scene.agent().haveSandbox(true);
        guest.refuse("GetVolumeStats", Status.INTERNAL);
        assertFalse(observer.isGone(instance));
    }
}
