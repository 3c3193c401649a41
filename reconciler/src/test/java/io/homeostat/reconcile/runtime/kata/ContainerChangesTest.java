package io.homeostat.reconcile.runtime.kata;

import static io.homeostat.reconcile.runtime.kata.KataScene.APP_LAUNCH;
import static io.homeostat.reconcile.runtime.kata.KataScene.assertFails;
import static io.homeostat.reconcile.runtime.kata.KataScene.container;
import static io.homeostat.reconcile.runtime.kata.KataScene.containerIdentity;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.Empty;
import io.grpc.Status;
import io.homeostat.desired.model.ContainerSpec;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.guest.ContainerSettings.InPlace;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.observe.guest.UnreachableGuest.Reason;
import io.homeostat.proto.kata.SignalProcessRequest;
import io.homeostat.proto.kata.UpdateContainerRequest;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.record.Outcome;
import java.nio.file.Files;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What is changed of a container that runs: its limits, whether it is paused, and the signals that it gets. */
@Timeout(120)
class ContainerChangesTest extends KataTestBed {
    private static final String[] STEPS = {"UpdateContainer", "PauseContainer", "ResumeContainer"};
    private static final String LIMITS = "limits: {memory: 64Mi}";
    private static final String MORE = "limits: {memory: 128Mi, pids: 20}";
    private static final String FROZEN = "frozen: true";

    private MemoryGuest guest;
    private ContainerRuntime runtime;

    @BeforeEach
    void setUp() throws Exception {
        guest = scene.guest();
        runtime = new ContainerRuntime(scene.machine(), scene.containers(scene.machine()));
        scene.runningSandbox();
    }

    private Outcome configure(Instance instance, Workload wanted) throws Exception {
        return runtime.configure(new Step.ApplyConfig(wanted), instance);
    }

    private static InPlace inPlace(Workload declared) {
        return ((ContainerSpec) declared.spec()).inPlace();
    }

    private InPlace given(Instance instance) throws Exception {
        return scene.containerNotes().given(instance).orElseThrow();
    }

    private List<String> steps() {
        return guest.methods(STEPS);
    }

    @Test
    void otherLimitsAreGivenAndNoted() throws Exception {
        Instance instance = scene.runningContainer(container(LIMITS));

        assertEquals(Outcome.done(), configure(instance, container(MORE)));

        assertEquals(List.of("UpdateContainer"), steps());
        UpdateContainerRequest request =
                guest.requests(UpdateContainerRequest.class).getFirst();
        assertEquals(APP_LAUNCH, request.getContainerId());
        assertEquals(128 << 20, request.getResources().getMemory().getLimit());
        assertEquals(inPlace(container(MORE)), given(instance));
    }

    @Test
    void aLimitThatWasGivenCannotBeLifted() throws Exception {
        Instance instance = scene.runningContainer(container(MORE));

        assertEquals(new Outcome.Unsupported(), configure(instance, container(LIMITS)));

        assertEquals(List.of(), steps());
        assertEquals(inPlace(container(MORE)), given(instance));
    }

    @Test
    void aContainerThatNoGuestWasAskedForCannotBeChanged() throws Exception {
        assertEquals(new Outcome.Unsupported(), configure(scene.intended(container(), APP_LAUNCH), container(LIMITS)));
        assertEquals(0, guest.methods().size());
    }

    @Test
    void whereNothingIsLimitedNoLimitsAreSent() throws Exception {
        Instance instance = scene.runningContainer(container());

        assertEquals(Outcome.done(), configure(instance, container()));

        assertEquals(List.of(), steps());
    }

    @Test
    void aContainerIsNotedAsFrozenBeforeItIs() throws Exception {
        Instance instance = scene.runningContainer(container());
        AtomicReference<Object> then = new AtomicReference<>("");
        guest.atNext("PauseContainer", () -> {
            try {
                then.set(given(instance));
            } catch (Exception e) {
                then.set(e);
            }
        });

        assertEquals(Outcome.done(), configure(instance, container(FROZEN)));

        assertEquals(inPlace(container(FROZEN)), then.get());
        assertTrue(scene.app().isPaused());
        assertEquals(List.of("PauseContainer"), steps());
    }

    @Test
    void nobodyBeginsACommandWhileAContainerIsPaused() throws Exception {
        Instance instance = scene.runningContainer(container());
        AtomicReference<Object> then = new AtomicReference<>("");
        guest.atNext(
                "PauseContainer",
                () -> then.set(KataScene.cause(() -> CommandTurn.take(
                        scene.containerNotes().turnFile(instance), instance, scene.timing(), Duration.ofMillis(1)))));

        assertEquals(Outcome.done(), configure(instance, container(FROZEN)));

        assertEquals(FailureCause.Kind.TIMED_OUT, then.get());
        CommandTurn.take(scene.containerNotes().turnFile(instance), instance, scene.timing(), Duration.ofMillis(1))
                .close();
    }

    @Test
    void aContainerThatIsPausedAlreadyIsFrozen() throws Exception {
        Instance instance = scene.runningContainer(container(FROZEN));

        assertEquals(Outcome.done(), configure(instance, container(FROZEN)));

        assertEquals(inPlace(container(FROZEN)), given(instance));
    }

    @Test
    void aContainerIsNotedAsFrozenUntilItIsResumed() throws Exception {
        Instance instance = scene.runningContainer(container(FROZEN));
        AtomicReference<Object> then = new AtomicReference<>("");
        guest.atNext("ResumeContainer", () -> {
            try {
                then.set(given(instance));
            } catch (Exception e) {
                then.set(e);
            }
        });

        assertEquals(Outcome.done(), configure(instance, container(LIMITS)));

        assertEquals(inPlace(container(LIMITS, FROZEN)), then.get());
        assertEquals(inPlace(container(LIMITS)), given(instance));
        assertFalse(scene.app().isPaused());
        assertEquals(List.of("UpdateContainer", "ResumeContainer"), steps());
    }

    @Test
    void aContainerThatSomebodyHasResumedIsFrozenNoMore() throws Exception {
        Instance instance = scene.runningContainer(container(FROZEN));
        scene.app().pause(false);

        assertEquals(Outcome.done(), configure(instance, container()));

        assertEquals(inPlace(container()), given(instance));
    }

    @Test
    void whatCannotBeResumedStaysNotedAsFrozen() throws Exception {
        Instance instance = scene.runningContainer(container(FROZEN));
        guest.refuse("ResumeContainer", Status.INTERNAL, "no freezer");

        assertFails(FailureCause.Kind.REFUSED, () -> configure(instance, container()));

        assertTrue(given(instance).frozen());
    }

    @Test
    void whatCannotBePausedIsAFailure() throws Exception {
        Instance instance = scene.runningContainer(container());
        guest.refuse("PauseContainer", Status.INTERNAL, "no freezer");

        assertFails(FailureCause.Kind.REFUSED, () -> configure(instance, container(FROZEN)));
    }

    @Test
    void whereNothingIsNotedOfWhatItWasGivenItGetsWhatIsDeclared() throws Exception {
        Instance instance = scene.launched(container(), APP_LAUNCH, containerIdentity(true));
        scene.runningContainer(container());
        Files.delete(scene.file(instance, "given.json"));

        assertEquals(Outcome.done(), configure(instance, container(LIMITS)));

        assertEquals(List.of("UpdateContainer"), steps());
        assertEquals(inPlace(container(LIMITS)), given(instance));
    }

    @Test
    void limitsThatAreRefusedAreNotNoted() throws Exception {
        Instance instance = scene.runningContainer(container(LIMITS));
        guest.refuse("UpdateContainer", Status.INTERNAL, "EBUSY");

        assertFails(FailureCause.Kind.REFUSED, () -> configure(instance, container(MORE)));

        assertEquals(inPlace(container(LIMITS)), given(instance));
    }

    @Test
    void limitsThatAreTakenAndNotMadeAreAFailure() throws Exception {
        Instance instance = scene.runningContainer(container(LIMITS));
        guest.ignore("UpdateContainer", Empty.getDefaultInstance());

        assertFails(FailureCause.Kind.LIMITS, () -> configure(instance, container(MORE)));
    }

    @ParameterizedTest
    @ValueSource(strings = {"EPERM", "Invalid container id"})
    void limitsThatCannotBeReadAreTakenForMade(String words) throws Exception {
        Instance instance = scene.runningContainer(container(LIMITS));
        guest.ignore("UpdateContainer", Empty.getDefaultInstance());
        guest.refuse("StatsContainer", Status.INTERNAL, words);

        assertEquals(Outcome.done(), configure(instance, container(MORE)));
    }

    private void send(Instance instance, String signal) throws Exception {
        runtime.prepareSignal(instance, signal).send();
    }

    @ParameterizedTest
    @ValueSource(strings = {"SIGTERM", "SIGKILL"})
    void aSignalThatEndsItIsNotedBeforeItIsSent(String signal) throws Exception {
        Instance instance = scene.runningContainer(container());
        guest.atNext("SignalProcess", () -> assertTrue(scene.isMarked(instance, "signalled")));

        send(instance, signal);

        SignalProcessRequest request =
                guest.requests(SignalProcessRequest.class).getFirst();
        assertEquals(signal.equals("SIGTERM") ? 15 : 9, request.getSignal());
        assertEquals(APP_LAUNCH, request.getContainerId());
        assertEquals(APP_LAUNCH, request.getExecId());
        assertTrue(scene.isMarked(instance, "signalled"));
    }

    @Test
    void aSignalThatSaysSomethingElseIsNotNoted() throws Exception {
        Instance instance = scene.runningContainer(container());

        send(instance, "SIGUSR1");

        assertEquals(List.of(10), scene.app().first().signals());
        assertFalse(scene.isMarked(instance, "signalled"));
    }

    @Test
    void aContainerThatWasNotStartedGetsNoSignal() throws Exception {
        Instance instance = scene.runningContainer(container()).withIdentity(containerIdentity(false));

        assertFails(FailureCause.Kind.REFUSED, () -> runtime.prepareSignal(instance, "SIGHUP"));
    }

    @Test
    void aSignalThatDoesNotArriveIsAFailure() throws Exception {
        Instance instance = scene.runningContainer(container());
        guest.refuse("SignalProcess", Status.NOT_FOUND, "InvalidExecId");
        assertFails(FailureCause.Kind.REFUSED, () -> send(instance, "SIGHUP"));

        guest.silence("SignalProcess");
        assertFails(FailureCause.Kind.TIMED_OUT, () -> send(instance, "SIGHUP"));

        guest.lose("SignalProcess");
        assertFails(FailureCause.Kind.CONNECTION_LOST, () -> send(instance, "SIGHUP"));

        guest.vanish(Reason.NO_ANSWER);
        assertFails(FailureCause.Kind.NO_CONNECTION, () -> send(instance, "SIGHUP"));
    }
}
