package io.homeostat.reconcile.runtime.kata;

import static io.homeostat.reconcile.runtime.kata.KataScene.ENDPOINT;
import static io.homeostat.reconcile.runtime.kata.KataScene.GUEST;
import static io.homeostat.reconcile.runtime.kata.KataScene.SANDBOX_LAUNCH;
import static io.homeostat.reconcile.runtime.kata.KataScene.STOP;
import static io.homeostat.reconcile.runtime.kata.KataScene.assertFails;
import static io.homeostat.reconcile.runtime.kata.KataScene.sandbox;
import static io.homeostat.reconcile.runtime.kata.KataScene.sandboxIdentity;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.Empty;
import io.grpc.Status;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.guest.GuestEndpoint;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.observe.guest.UnreachableGuest.Reason;
import java.nio.file.Files;
import java.time.Duration;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.EnumSource.Mode;

/** The end of a sandbox: destroyed, found ended, or given up because its guest is gone or silent. */
@Timeout(120)
class SandboxStopTest extends KataTestBed {
    private static final GuestEndpoint AT = GuestEndpoint.parse(ENDPOINT);

    private MemoryGuest guest;
    private Guests guests;
    private SandboxRuntime runtime;
    private LostSandboxes lost;

    @BeforeEach
    void setUp() throws Exception {
        guest = scene.guest();
        guests = scene.guests(scene.machine(), Kind.SANDBOX);
        runtime = new SandboxRuntime(scene.machine(), guests);
        lost = new LostSandboxes(scene.machine(), scene.sandboxNotes());
        scene.agent().onDestroyed(guest::breakConnections);
    }

    private void assertStopped(Instance instance, int destroyed) throws Exception {
        String words = runtime.stop(instance, false, STOP);

        assertFalse(words.isEmpty());
        assertTrue(scene.isEnded(instance));
        assertEquals(destroyed, guest.count("DestroySandbox"));
    }

    private void assertNotStopped(FailureCause.Kind kind, Instance instance) {
        assertFails(kind, () -> runtime.stop(instance, false, STOP));

        assertFalse(scene.isEnded(instance));
        assertTrue(lost.of(GUEST).isEmpty());
    }

    @Test
    void aSandboxIsDestroyedAndItsAgentWaitedFor() throws Exception {
        Instance instance = scene.runningSandbox();

        assertStopped(instance, 1);

        assertFalse(scene.agent().hasSandbox());
        assertTrue(lost.of(GUEST).isEmpty());
        assertEquals(0, scene.timing().read());
    }

    @Test
    void anAgentThatGoesOnIsWaitedForOnlyForAWhile() throws Exception {
        Instance instance = scene.runningSandbox();
        scene.agent().onDestroyed(() -> {});
        scene.timing().pass();

        assertStopped(instance, 1);

        assertEquals(Duration.ofSeconds(3).toNanos(), scene.timing().read());
    }

    @Test
    void aSandboxThatStaysIsWaitedForAsLongAsAStopMayTake() throws Exception {
        Instance instance = scene.runningSandbox();
        guest.ignore("DestroySandbox", Empty.getDefaultInstance());
        scene.timing().pass();

        assertStopped(instance, 1);

        assertEquals(STOP.timeout().toNanos(), scene.timing().read());
    }

    @Test
    void anAgentThatEndsLaterIsWaitedFor() throws Exception {
        Instance instance = scene.runningSandbox();
        scene.agent().onDestroyed(() -> {});
        scene.timing().pass();
        scene.timing().atNextSleep(() -> {});
        scene.timing().atNextSleep(guest::breakConnections);

        assertStopped(instance, 1);

        assertEquals(Duration.ofMillis(200).toNanos(), scene.timing().read());
    }

    @Test
    void aLaunchThatNoGuestWasAskedForHasNothingToEnd() throws Exception {
        Instance instance = scene.intended(sandbox(), SANDBOX_LAUNCH);
        scene.agent().haveSandbox(true);
        Files.createDirectories(scene.file(instance, "ended").getParent());

        assertStopped(instance, 0);

        assertTrue(scene.agent().hasSandbox());
    }

    @Test
    void aLaunchOfWhichOnlyTheNoteSaysWhereItIsIsDestroyed() throws Exception {
        Instance instance = scene.intended(sandbox(), SANDBOX_LAUNCH);
        scene.launches().write(instance.withIdentity(sandboxIdentity(0)));
        scene.agent().haveSandbox(true);

        assertStopped(instance, 1);
    }

    @Test
    void aNoteThatCannotBeReadLeadsToNoGuest() throws Exception {
        Instance instance = scene.intended(sandbox(), SANDBOX_LAUNCH);
        Files.createDirectories(scene.file(instance, "ended").getParent());
        scene.block(instance, "launch.json");

        assertStopped(instance, 0);
    }

    @Test
    void whatIsInAGuestThatWasMadeAnotherSandboxOfIsLeftAlone() throws Exception {
        Instance instance = scene.runningSandbox();
        scene.mark(instance, "guest-booted");

        assertStopped(instance, 0);

        assertTrue(scene.agent().hasSandbox());
    }

    @Test
    void aGuestThatHasBootedAnewHasNothingToEnd() throws Exception {
        Instance instance = scene.runningSandbox();
        scene.agent().reboot();

        assertStopped(instance, 0);
    }

    @Test
    void aGuestThatDoesNotSayWhetherItHasASandboxIsToldToDestroyIt() throws Exception {
        Instance instance = scene.runningSandbox();
        guest.refuse("GetVolumeStats", Status.INTERNAL, "EPERM");
        scene.agent().onDestroyed(guest::breakConnections);

        assertStopped(instance, 1);
    }

    @ParameterizedTest
    @EnumSource(
            value = Reason.class,
            names = {"NO_SOCKET", "REFUSED", "NOT_UP", "NO_SUCH_GUEST"})
    void aSandboxWhoseGuestIsGoneIsGivenUpAndRemembered(Reason reason) throws Exception {
        Instance instance = scene.runningSandbox();
        scene.sandboxNotes().writeScrapes(instance, 42);
        guest.vanish(reason);

        assertStopped(instance, 0);

        assertEquals(sandboxIdentity(42), lost.of(GUEST).orElseThrow());
    }

    @ParameterizedTest
    @EnumSource(
            value = Reason.class,
            mode = Mode.EXCLUDE,
            names = {"NO_SOCKET", "REFUSED", "NOT_UP", "NO_SUCH_GUEST"})
    void aSandboxWhoseGuestCannotBeAskedIsNotGivenUp(Reason reason) throws Exception {
        Instance instance = scene.runningSandbox();
        guest.vanish(reason);

        assertNotStopped(FailureCause.Kind.NO_CONNECTION, instance);
    }

    @Test
    void aSandboxWhoseGuestIsSilentIsGivenUpAndRemembered() throws Exception {
        Instance instance = scene.runningSandbox();
        guest.silence("DestroySandbox");

        assertStopped(instance, 1);

        assertEquals(sandboxIdentity(0), lost.of(GUEST).orElseThrow());
    }

    @Test
    void aRefusalToDestroyASandboxIsAFailure() throws Exception {
        Instance instance = scene.runningSandbox();
        guest.refuse("DestroySandbox", Status.PERMISSION_DENIED);

        assertNotStopped(FailureCause.Kind.REFUSED, instance);
    }

    @Test
    void anAgentThatEndsInPlaceOfAnAnswerHasDoneIt() throws Exception {
        Instance instance = scene.runningSandbox();
        guest.lose("DestroySandbox");

        assertStopped(instance, 1);
    }

    @Test
    void theCallThatEndsItIsBlamedWhileItIsNotAnswered() throws Exception {
        Instance instance = scene.runningSandbox();
        guest.silence("DestroySandbox");
        assertStopped(instance, 1);
        scene.setNow(KataScene.START.plusSeconds(5));

        runtime.upkeep();

        assertEquals(1, scene.sandboxNotes().unanswered(instance).size());
    }

    @Test
    void whatIsDestroyedLeavesNeitherNotesNorConnections() throws Exception {
        Instance instance = scene.runningSandbox();
        Guests.Guest before = guests.at(AT);
        Contact contact = guests.contact(SANDBOX_LAUNCH);

        runtime.destroy(instance);

        assertFalse(Files.exists(scene.file(instance, "launch.json").getParent()));
        assertNotSame(contact, guests.contact(SANDBOX_LAUNCH));
        assertNotSame(before, guests.at(AT));
    }

    @Test
    void theConnectionsToAGuestStayForTheSandboxThatItHasByNow() throws Exception {
        Instance instance = scene.runningSandbox();
        scene.mark(instance, "guest-booted");
        Instance next = scene.launched(sandbox(), "s-2", sandboxIdentity(0));
        Guests.Guest before = guests.at(AT);

        runtime.destroy(instance);

        assertSame(before, guests.at(AT));
        assertTrue(scene.isMarked(next, "launch.json"));
    }

    @Test
    void theConnectionsToAGuestStayWhereItCannotBeReadWhoseItIs() throws Exception {
        Instance instance = scene.runningSandbox();
        Instance next = scene.launched(sandbox(), "s-2", sandboxIdentity(0));
        scene.block(next, "launch.json");
        Guests.Guest before = guests.at(AT);

        runtime.destroy(instance);

        assertSame(before, guests.at(AT));
    }

    private Instance lostSandbox() throws Exception {
        Instance instance = scene.launched(sandbox(), SANDBOX_LAUNCH, sandboxIdentity(3));
        scene.agent().haveSandbox(true);
        scene.agent().setScrapes(3);
        lost.note(instance, sandboxIdentity(3));
        runtime.destroy(instance);
        scene.remember(instance.withPhase(Phase.ENDED, ""));
        return instance;
    }

    @Test
    void theSandboxThatWasGivenUpIsDestroyedWhenItsWorkloadIsRemoved() throws Exception {
        lostSandbox();

        runtime.remove(GUEST);

        assertEquals(1, guest.count("DestroySandbox"));
        assertTrue(lost.of(GUEST).isEmpty());
    }

    @Test
    void theRemovalOfAWorkloadDoesNotWaitForAGuestThatDoesNothing() throws Exception {
        lostSandbox();
        guest.silence("DestroySandbox");

        runtime.remove(GUEST);

        assertEquals(1, guest.count("DestroySandbox"));
        assertTrue(lost.of(GUEST).isEmpty());
    }

    @Test
    void theSandboxOfAnotherAgentIsNotDestroyedWhenAWorkloadIsRemoved() throws Exception {
        lostSandbox();
        scene.agent().setScrapes(0);

        runtime.remove(GUEST);

        assertEquals(0, guest.count("DestroySandbox"));
        assertTrue(lost.of(GUEST).isEmpty());
    }

    @Test
    void aLaunchThatNobodyRemembersGoesWithItsWorkload() throws Exception {
        Instance forgotten = scene.launched(sandbox(), "forgotten", sandboxIdentity(0));
        scene.forget(GUEST);

        runtime.remove(GUEST);

        assertFalse(Files.exists(scene.file(forgotten, "launch.json").getParent()));
    }
}
