package io.homeostat.reconcile.runtime.kata;

import static io.homeostat.reconcile.runtime.kata.KataScene.APP;
import static io.homeostat.reconcile.runtime.kata.KataScene.APP_LAUNCH;
import static io.homeostat.reconcile.runtime.kata.KataScene.STOP;
import static io.homeostat.reconcile.runtime.kata.KataScene.assertFails;
import static io.homeostat.reconcile.runtime.kata.KataScene.container;
import static io.homeostat.reconcile.runtime.kata.KataScene.containerIdentity;
import static io.homeostat.reconcile.runtime.kata.KataScene.eventually;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.Status;
import io.homeostat.desired.model.Lifecycle;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.observe.guest.UnreachableGuest.Reason;
import io.homeostat.proto.kata.SignalProcessRequest;
import java.nio.file.Files;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The end of a container: told to end, killed, found ended, or given up because its guest cannot be asked. */
@Timeout(120)
class ContainerStopTest extends ContainerTestBed {
    private static final String[] STEPS = {"ResumeContainer", "SignalProcess", "RemoveContainer"};

    private ContainerRuntime runtime;
    private LeftOvers leftOvers;

    @BeforeEach
    void setUp() throws Exception {
        runtime = new ContainerRuntime(scene.machine(), containers);
        leftOvers = new LeftOvers(scene.layout());
    }

    private void assertStopped(Instance instance, String... steps) throws Exception {
        String words = runtime.stop(instance, false, STOP);

        assertFalse(words.isEmpty());
        assertTrue(scene.isEnded(instance));
        assertEquals(List.of(steps), guest.methods(STEPS));
    }

    private void assertNotStopped(FailureCause.Kind kind, Instance instance) throws Exception {
        assertFails(kind, () -> runtime.stop(instance, false, STOP));

        assertFalse(scene.isEnded(instance));
        assertEquals(List.of(), leftOvers.in(sandbox));
    }

    private SignalProcessRequest signal(int number) {
        return guest.requests(SignalProcessRequest.class).get(number);
    }

    @Test
    void aContainerIsToldToEndAndRemoved() throws Exception {
        Instance instance = scene.runningContainer(container());

        assertStopped(instance, "SignalProcess", "RemoveContainer");

        assertEquals(15, signal(0).getSignal());
        assertEquals(APP_LAUNCH, signal(0).getContainerId());
        assertEquals(APP_LAUNCH, signal(0).getExecId());
        assertTrue(scene.isMarked(instance, "signalled"));
        assertEquals(0, scene.agent().containers().size());
    }

    @Test
    void theDeclaredSignalTellsItToEnd() throws Exception {
        Instance instance = scene.runningContainer(container());
        guest.atNext("SignalProcess", () -> {
            assertTrue(scene.isMarked(instance, "signalled"));
            scene.app().first().exit(0);
        });

        String _ = runtime.stop(instance, false, new Lifecycle.Stop(Duration.ofSeconds(20), "SIGINT"));

        assertEquals(2, signal(0).getSignal());
        assertEquals(1, guest.count("SignalProcess"));
        assertTrue(scene.isEnded(instance));
    }

    @Test
    void aContainerThatDoesNotEndInTimeIsKilledWithAllOfItsProcesses() throws Exception {
        Instance instance = scene.runningContainer(container());
        scene.app().first().ignoreSignals();
        scene.timing().pass();

        assertStopped(instance, "SignalProcess", "SignalProcess", "RemoveContainer");

        assertEquals(9, signal(1).getSignal());
        assertEquals("", signal(1).getExecId());
        assertTrue(scene.timing().read() >= STOP.timeout().toNanos());
    }

    @Test
    void aFrozenContainerGoesOnBeforeItIsToldToEnd() throws Exception {
        Instance instance = scene.runningContainer(container("frozen: true"));

        assertStopped(instance, "ResumeContainer", "SignalProcess", "RemoveContainer");
    }

    @Test
    void aFrozenContainerThatSomebodyHasResumedIsToldToEnd() throws Exception {
        Instance instance = scene.runningContainer(container("frozen: true"));
        scene.app().pause(false);

        assertStopped(instance, "ResumeContainer", "SignalProcess", "RemoveContainer");
    }

    @Test
    void aFrozenContainerThatCannotBeResumedIsNotStopped() throws Exception {
        Instance instance = scene.runningContainer(container("frozen: true"));
        guest.refuse("ResumeContainer", Status.INTERNAL, "no freezer");

        assertNotStopped(FailureCause.Kind.REFUSED, instance);
    }

    @Test
    void aContainerThatHasEndedAlreadyIsOnlyRemoved() throws Exception {
        Instance instance = scene.runningContainer(container());
        scene.app().first().exit(0);
        assertTrue(containers
                .follow(instance, containerIdentity(true))
                .orElseThrow()
                .awaitEnd(Duration.ofSeconds(1)));

        assertStopped(instance, "RemoveContainer");
    }

    @Test
    void aContainerThatWasNotStartedIsOnlyRemoved() throws Exception {
        Instance instance = scene.runningContainer(container()).withIdentity(containerIdentity(false));
        scene.launches().write(instance);

        assertStopped(instance, "RemoveContainer");
    }

    @Test
    void whereItIsSaysTheNoteOfItsLaunch() throws Exception {
        Instance instance = scene.runningContainer(container());

        assertStopped(scene.intended(container(), APP_LAUNCH), "SignalProcess", "RemoveContainer");

        assertTrue(scene.isEnded(instance));
    }

    @Test
    void aNoteThatCannotBeReadIsNoReasonToForgetAContainer() throws Exception {
        Instance instance = scene.runningContainer(container());
        scene.block(instance, "launch.json");

        assertNotStopped(FailureCause.Kind.INPUT_OUTPUT, scene.intended(container(), APP_LAUNCH));
    }

    @Test
    void aLaunchThatNoGuestWasAskedForHasNothingToEnd() throws Exception {
        Instance instance = scene.intended(container(), APP_LAUNCH);
        Files.createDirectories(scene.file(instance, "ended").getParent());

        assertStopped(instance);
        assertEquals(0, guest.methods().size());
    }

    @Test
    void aProcessThatIsNotThereAnyMoreIsWaitedFor() throws Exception {
        Instance instance = scene.runningContainer(container());
        guest.refuse("SignalProcess", Status.NOT_FOUND, "InvalidExecId");
        guest.atNext("SignalProcess", () -> scene.app().first().exit(0));

        assertStopped(instance, "SignalProcess", "RemoveContainer");
    }

    @Test
    void aSignalThatIsNotAnsweredIsNotTheLastWord() throws Exception {
        Instance instance = scene.runningContainer(container());
        guest.silence("SignalProcess");
        guest.atNext("SignalProcess", () -> {
            guest.heal("SignalProcess");
            scene.timing().pass();
        });

        assertStopped(instance, "SignalProcess", "SignalProcess", "RemoveContainer");
    }

    @Test
    void aSignalThatIsRefusedIsAFailure() throws Exception {
        Instance instance = scene.runningContainer(container());
        guest.refuse("SignalProcess", Status.PERMISSION_DENIED);

        assertNotStopped(FailureCause.Kind.REFUSED, instance);
        assertEquals(0, guest.count("RemoveContainer"));
    }

    @Test
    void aGuestThatKnowsOfNoSuchContainerHasNothingToEnd() throws Exception {
        Instance instance = scene.runningContainer(container());
        scene.agent().containers().clear();

        String _ = runtime.stop(instance, false, STOP);

        assertTrue(scene.isEnded(instance));
    }

    @Test
    void aContainerThatIsNotRemovedIsNotStopped() throws Exception {
        Instance instance = scene.runningContainer(container());
        guest.refuse("RemoveContainer", Status.INTERNAL, "busy");

        assertNotStopped(FailureCause.Kind.REFUSED, instance);
    }

    @Test
    void aContainerWhoseGuestIsSilentIsNotStopped() throws Exception {
        Instance instance = scene.runningContainer(container());
        guest.silence("RemoveContainer");

        assertNotStopped(FailureCause.Kind.TIMED_OUT, instance);
    }

    @Test
    void aContainerWhoseGuestIsSilentIsGivenUpWhenItsWorkloadIsRemoved() throws Exception {
        Instance instance = scene.runningContainer(container());
        guest.silence("RemoveContainer");

        String _ = runtime.stop(instance, true, STOP);

        assertTrue(scene.isEnded(instance));
        assertEquals(List.of(APP_LAUNCH), leftOvers.of(APP, sandbox));
    }

    @ParameterizedTest
    @EnumSource(
            value = Reason.class,
            names = {"NO_SOCKET", "REFUSED", "NOT_UP", "NO_SUCH_GUEST"})
    void whatHasEndedWithItsSandboxIsNotWaitedFor(Reason reason) throws Exception {
        Instance instance = scene.runningContainer(container());
        scene.mark(sandbox, "ended");
        guest.vanish(reason);
        scene.timing().pass();

        assertStopped(instance);

        assertEquals(0, scene.timing().read());
        assertEquals(List.of(), leftOvers.in(sandbox));
    }

    @Test
    void aContainerWhoseGuestDoesNotComeBackIsGivenUpAndRemovedLater() throws Exception {
        Instance instance = scene.runningContainer(container());
        guest.vanish(Reason.REFUSED);
        scene.timing().pass();

        assertStopped(instance);

        assertEquals(STOP.timeout().toNanos(), scene.timing().read());
        assertEquals(List.of(APP_LAUNCH), leftOvers.of(APP, sandbox));
    }

    @Test
    void aContainerWhoseGuestComesBackInTimeIsEnded() throws Exception {
        Instance instance = scene.runningContainer(container());
        guest.vanish(Reason.REFUSED);
        scene.timing().pass();
        scene.timing().atNextSleep(() -> {});
        scene.timing().atNextSleep(guest::listen);
        scene.app().first().ignoreSignals();

        assertStopped(instance, "SignalProcess", "SignalProcess", "RemoveContainer");

        assertEquals(List.of(), leftOvers.in(sandbox));
    }

    @Test
    void aContainerWhoseGuestIsLostOnlyNowIsNotGivenUpYet() throws Exception {
        Instance instance = scene.runningContainer(container());
        scene.app().first().ignoreSignals();
        scene.timing().pass();
        scene.timing().atNextSleep(() -> guest.vanish(Reason.REFUSED));

        assertNotStopped(FailureCause.Kind.NO_CONNECTION, instance);
    }

    @ParameterizedTest
    @EnumSource(
            value = Reason.class,
            names = {"NO_ANSWER", "WRONG_PROTOCOL", "NO_VSOCK", "NOT_ALLOWED", "NOT_TRIED"})
    void aContainerWhoseGuestCannotBeAskedIsNotStopped(Reason reason) throws Exception {
        Instance instance = scene.runningContainer(container());
        scene.mark(sandbox, "ended");
        guest.vanish(reason);
        scene.timing().pass();

        assertNotStopped(FailureCause.Kind.NO_CONNECTION, instance);

        assertEquals(0, scene.timing().read());
    }

    @Test
    void whoeverDoesNotTakeWhatContainersPrintStopsNone() throws Exception {
        Instance instance = scene.runningContainer(container());
        containers.close();

        assertNotStopped(FailureCause.Kind.INPUT_OUTPUT, instance);
    }

    @Test
    void whatIsDestroyedIsRemovedFromItsGuestAndForgotten() throws Exception {
        Instance instance = scene.runningContainer(container());
        ContainerFollower follower =
                containers.follow(instance, containerIdentity(true)).orElseThrow();

        runtime.destroy(instance);

        assertEquals(List.of("RemoveContainer"), guest.methods(STEPS));
        assertTrue(containers.follower(instance).isEmpty());
        assertFalse(Files.exists(scene.file(instance, "launch.json").getParent()));
        assertEquals(List.of(), leftOvers.in(sandbox));
        eventually().until(() -> !follower.follows());
    }

    @Test
    void whatWasStoppedIsNotRemovedAgain() throws Exception {
        Instance instance = scene.runningContainer(container());
        scene.mark(instance, "ended");

        runtime.destroy(instance);

        assertEquals(List.of(), guest.methods(STEPS));
        assertFalse(Files.exists(scene.file(instance, "launch.json").getParent()));
    }

    private void assertDestroyedLater() throws Exception {
        Instance instance = scene.runningContainer(container());
        runtime.destroy(instance);

        assertEquals(List.of(APP_LAUNCH), leftOvers.of(APP, sandbox));
        assertFalse(Files.exists(scene.file(instance, "launch.json").getParent()));
    }

    @Test
    void whatItsGuestDoesNotRemoveIsRemovedLater() throws Exception {
        guest.refuse("RemoveContainer", Status.INTERNAL, "busy");
        assertDestroyedLater();
    }

    @Test
    void whatIsInAGuestThatCannotBeReachedIsRemovedLater() throws Exception {
        guest.vanish(Reason.NO_ANSWER);
        assertDestroyedLater();
    }

    @Test
    void whatItsGuestDoesNotKnowIsDestroyed() throws Exception {
        Instance instance = scene.runningContainer(container());
        scene.agent().containers().clear();

        runtime.destroy(instance);

        assertEquals(List.of(), leftOvers.in(sandbox));
        assertFalse(Files.exists(scene.file(instance, "launch.json").getParent()));
    }

    @Test
    void aLaunchThatNobodyRemembersGoesWithItsWorkload() throws Exception {
        Instance instance = scene.runningContainer(container());
        scene.forget(APP);

        runtime.remove(APP);

        assertEquals(0, scene.agent().containers().size());
        assertFalse(Files.exists(scene.file(instance, "launch.json").getParent()));
    }

    @Test
    void theCallThatIsNotAnsweredIsNoted() throws Exception {
        Instance instance = scene.runningContainer(container());
        guest.silence("RemoveContainer");
        assertNotStopped(FailureCause.Kind.TIMED_OUT, instance);
        scene.setNow(KataScene.START.plusSeconds(5));

        runtime.upkeep();

        assertEquals(1, scene.sandboxNotes().unanswered(sandbox).size());
        assertTrue(scene.isMarked(sandbox, "unanswered-container"));
    }
}
