package io.homeostat.reconcile.runtime.kata;

import static io.homeostat.reconcile.runtime.kata.KataScene.APP;
import static io.homeostat.reconcile.runtime.kata.KataScene.APP_LAUNCH;
import static io.homeostat.reconcile.runtime.kata.KataScene.SANDBOX_LAUNCH;
import static io.homeostat.reconcile.runtime.kata.KataScene.assertFails;
import static io.homeostat.reconcile.runtime.kata.KataScene.container;
import static io.homeostat.reconcile.runtime.kata.KataScene.containerIdentity;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableSet;
import com.google.common.collect.Iterables;
import io.grpc.Status;
import io.homeostat.actuate.launch.LogEnds;
import io.homeostat.desired.model.ContainerSpec;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.state.Identity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.observe.guest.UnreachableGuest.Reason;
import io.homeostat.proto.kata.CopyFileRequest;
import io.homeostat.proto.kata.CreateContainerRequest;
import io.homeostat.reconcile.runtime.KindRuntime.Creation;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The creation of a container: written down before it is asked for, and never asked for twice. */
@Timeout(120)
class ContainerLaunchTest extends ContainerTestBed {
    private static final String[] STEPS = {"CreateContainer", "CloseStdin", "StartContainer", "PauseContainer"};

    private ContainerRuntime runtime;

    @BeforeEach
    void setUp() throws Exception {
        runtime = new ContainerRuntime(scene.machine(), containers);
    }

    private Creation prepare(Workload declared) throws Exception {
        return runtime.prepare(scene.launchStep(declared, SANDBOX_LAUNCH), ImmutableSet.of());
    }

    private Instance intended(Workload declared) {
        return scene.remember(scene.intended(declared, APP_LAUNCH));
    }

    private Identity launch(Workload declared) throws Exception {
        return prepare(declared).create(intended(declared));
    }

    private Identity noted(Instance instance) throws Exception {
        return Objects.requireNonNull(scene.launches().completed(instance).identity());
    }

    private List<String> steps() {
        return guest.methods(STEPS);
    }

    @Test
    void aContainerIsMadeItsInputClosedAndStarted() throws Exception {
        Instance instance = intended(container());

        Identity identity = launch(container("limits: {memory: 64Mi}"));

        assertEquals(containerIdentity(true), identity);
        assertEquals(identity, noted(instance));
        assertEquals(List.of("CreateContainer", "CloseStdin", "StartContainer"), steps());
        CreateContainerRequest request = Iterables.getOnlyElement(guest.requests(CreateContainerRequest.class));
        assertEquals(APP_LAUNCH, request.getContainerId());
        assertEquals("/rootfs", request.getOCI().getRoot().getPath());
        assertFalse(request.getSandboxPidns());
        assertTrue(scene.app().first().hasInputEnded());
        assertEquals(
                ImmutableSet.of("limits.memory"),
                scene.containerNotes().given(instance).orElseThrow().limits());
        assertEquals(
                List.of("serve"),
                scene.containerNotes().process(instance).orElseThrow().getArgsList());
        assertFalse(scene.app().isPaused());
        assertFalse(containers.guests().begun().contains(APP_LAUNCH));
        assertFalse(Files.exists(scene.sandboxNotes().firstContainer(sandbox).orElse(Path.of("/nonexistent"))));
    }

    @Test
    void whatItPrintsIsTakenFromTheBeginning() throws Exception {
        Instance instance = intended(container());
        guest.atNext(
                "StartContainer", () -> assertTrue(containers.follower(instance).isPresent()));

        launch(container());
        scene.app().first().print("hello");
        scene.app().first().exit(0);

        assertTrue(containers.follower(instance).orElseThrow().awaitEnd(Duration.ofSeconds(1)));
        assertEquals("hello", scene.log(APP));
    }

    @Test
    void whatWasLoggedBeforeIsNotOfThisLaunch() throws Exception {
        Path log = scene.layout().log(APP);
        Files.createDirectories(log.getParent());
        Files.writeString(log, "earlier");

        launch(container());

        assertEquals(
                List.of(new LogEnds.Part(log, "earlier".length())), new LogEnds(scene.layout()).sinceLaunch(APP, log));
    }

    @Test
    void aContainerThatIsDeclaredFrozenIsPausedOnceItRuns() throws Exception {
        launch(container("frozen: true"));

        assertEquals(List.of("CreateContainer", "CloseStdin", "StartContainer", "PauseContainer"), steps());
        assertTrue(scene.app().isPaused());
    }

    @Test
    void aContainerThatSomebodyHasPausedIsAsDeclared() throws Exception {
        guest.refuse("PauseContainer", Status.INTERNAL, "current status is: Paused");

        assertEquals(containerIdentity(true), launch(container("frozen: true")));
    }

    @Test
    void aContainerThatCannotBePausedIsAFailureOfTheLaunch() throws Exception {
        guest.refuse("PauseContainer", Status.INTERNAL, "no freezer");
        Instance instance = intended(container());

        assertFails(FailureCause.Kind.REFUSED, () -> launch(container("frozen: true")));

        assertEquals(containerIdentity(true), noted(instance));
    }

    @Test
    void aContainerIsNotLaunchedWithoutItsSandbox() {
        scene.forget(KataScene.GUEST);
        assertFails(FailureCause.Kind.NO_CONNECTION, () -> prepare(container()));

        scene.remember(scene.intended(KataScene.sandbox(), "another"));
        assertFails(FailureCause.Kind.NO_CONNECTION, () -> prepare(container()));

        scene.remember(scene.intended(KataScene.sandbox(), SANDBOX_LAUNCH));
        assertFails(FailureCause.Kind.NO_CONNECTION, () -> prepare(container()));
        assertEquals(0, guest.methods().size());
    }

    @Test
    void aGuestInWhichNobodyListensForAMomentIsWaitedFor() throws Exception {
        guest.vanish(Reason.REFUSED);
        scene.timing().pass();
        scene.timing().atNextSleep(() -> {});
        scene.timing().atNextSleep(guest::listen);

        launch(container());

        Duration waited = Duration.ofNanos(scene.timing().read());
        assertTrue(waited.compareTo(Duration.ofMillis(200)) >= 0, waited::toString);
        assertTrue(waited.compareTo(Duration.ofSeconds(1)) < 0, waited::toString);
    }

    @Test
    void aGuestInWhichNobodyListensIsNotWaitedForLong() {
        guest.vanish(Reason.REFUSED);
        scene.timing().pass();

        assertFails(FailureCause.Kind.NO_CONNECTION, () -> prepare(container()));

        assertEquals(Duration.ofSeconds(10).toNanos(), scene.timing().read());
    }

    @Test
    void aGuestWhoseSandboxHasEndedIsNotWaitedFor() throws Exception {
        scene.mark(sandbox, "ended");
        guest.vanish(Reason.REFUSED);
        scene.timing().pass();

        assertFails(FailureCause.Kind.NO_CONNECTION, () -> prepare(container()));

        assertEquals(0, scene.timing().read());
    }

    @Test
    void aGuestThatCannotBeAskedIsNotWaitedFor() {
        guest.vanish(Reason.NOT_ALLOWED);
        scene.timing().pass();

        assertFails(FailureCause.Kind.NO_CONNECTION, () -> prepare(container()));

        assertEquals(0, scene.timing().read());
    }

    @Test
    void aGuestThatHasBootedAnewIsNoSandboxYet() {
        scene.agent().reboot();

        assertFails(FailureCause.Kind.GUEST_LOST, () -> prepare(container()));
    }

    @Test
    void aGuestThatDoesNotSayWhetherItIsASandboxGetsNoContainer() {
        guest.silence("GetVolumeStats");

        assertFails(FailureCause.Kind.NO_CONNECTION, () -> prepare(container()));
    }

    @Test
    void allIsNotedBeforeTheContainerIsAskedFor() throws Exception {
        Instance instance = intended(container());
        AtomicReference<Object> then = new AtomicReference<>("");
        guest.atNext("CreateContainer", () -> {
            try {
                assertTrue(containers.guests().begun().contains(APP_LAUNCH));
                assertTrue(scene.containerNotes().given(instance).isPresent());
                assertTrue(scene.containerNotes().process(instance).isPresent());
                then.set(noted(instance));
            } catch (Exception e) {
                then.set(e);
            }
        });

        launch(container());

        assertEquals(containerIdentity(false), then.get());
    }

    @Test
    void untilTheStartIsAnsweredTheNoteSaysThatItIsNotKnown() throws Exception {
        Instance instance = intended(container());
        AtomicReference<Object> then = new AtomicReference<>("");
        guest.atNext("StartContainer", () -> {
            try {
                then.set(noted(instance));
            } catch (Exception e) {
                then.set(e);
            }
        });

        launch(container());

        assertEquals(containerIdentity(false), then.get());
    }

    private void assertNotStarted(FailureCause.Kind kind, List<String> steps) throws Exception {
        Instance instance = intended(container());

        assertFails(kind, () -> launch(container()));

        assertEquals(steps, steps());
        assertEquals(containerIdentity(false), noted(instance));
        assertFalse(containers.guests().begun().contains(APP_LAUNCH));
    }

    @Test
    void aContainerThatIsRefusedIsNotStarted() throws Exception {
        guest.refuse("CreateContainer", Status.INTERNAL, "no such rootfs");
        assertNotStarted(FailureCause.Kind.REFUSED, List.of("CreateContainer"));
    }

    @Test
    void aContainerWhoseCreationIsNotAnsweredIsNotStarted() throws Exception {
        guest.silence("CreateContainer");
        assertNotStarted(FailureCause.Kind.TIMED_OUT, List.of("CreateContainer"));
        assertTrue(containers.follower(scene.intended(container(), APP_LAUNCH)).isEmpty());
    }

    @Test
    void aContainerIsNotStartedWhenTheConnectionBreaks() throws Exception {
        guest.lose("CreateContainer");
        assertNotStarted(FailureCause.Kind.CONNECTION_LOST, List.of("CreateContainer"));
    }

    @Test
    void aStartThatIsRefusedIsNotTriedAgain() throws Exception {
        guest.refuse("StartContainer", Status.INTERNAL, "no such program");

        assertNotStarted(FailureCause.Kind.REFUSED, List.of("CreateContainer", "CloseStdin", "StartContainer"));

        assertFalse(scene.app().isFreed());
    }

    @Test
    void aStartThatIsNotAnsweredIsFreed() throws Exception {
        guest.silence("StartContainer");

        assertNotStarted(FailureCause.Kind.TIMED_OUT, List.of("CreateContainer", "CloseStdin", "StartContainer"));

        assertTrue(scene.app().isFreed());
    }

    @ParameterizedTest
    @EnumSource(
            value = Status.Code.class,
            names = {"INTERNAL", "NOT_FOUND", "PERMISSION_DENIED", "UNIMPLEMENTED"})
    void anInputThatCannotBeClosedIsNoReasonNotToStart(Status.Code code) throws Exception {
        guest.refuse("CloseStdin", code.toStatus());

        assertEquals(containerIdentity(true), launch(container()));
    }

    @Test
    void aGuestThatDoesNotAnswerAboutTheInputStartsNothing() throws Exception {
        guest.silence("CloseStdin");
        assertNotStarted(FailureCause.Kind.TIMED_OUT, List.of("CreateContainer", "CloseStdin"));
    }

    @Test
    void aGuestThatIsLostAboutTheInputStartsNothing() throws Exception {
        guest.lose("CloseStdin");
        assertNotStarted(FailureCause.Kind.CONNECTION_LOST, List.of("CreateContainer", "CloseStdin"));
    }

    @Test
    void whatWasGivenUpOfTheSameWorkloadIsRemovedFirst() throws Exception {
        LeftOvers leftOvers = new LeftOvers(scene.layout());
        leftOvers.note(sandbox, APP, "old");

        launch(container());

        assertEquals(
                List.of("RemoveContainer", "CreateContainer"), guest.methods("RemoveContainer", "CreateContainer"));
        assertEquals(List.of(), leftOvers.in(sandbox));
    }

    @Test
    void whileWhatWasGivenUpCannotBeRemovedThereIsNoOther() throws Exception {
        new LeftOvers(scene.layout()).note(sandbox, APP, "old");
        guest.refuse("RemoveContainer", Status.INTERNAL, "busy");

        assertFails(FailureCause.Kind.REFUSED, () -> launch(container()));

        assertEquals(List.of(), steps());
    }

    @Test
    void aLaunchThatNobodyRemembersIsDestroyedFirst() throws Exception {
        Instance forgotten = scene.runningContainer(container());
        scene.forget(APP);

        prepare(container());

        assertEquals(0, scene.agent().containers().size());
        assertFalse(scene.isMarked(forgotten, "launch.json"));
    }

    private Instance ofArchive(Workload declared) throws Exception {
        Path install = scene.layout().install(APP, "app_1");
        Files.createDirectories(install);
        Files.writeString(install.resolve("serve"), "#!/bin/sh");
        Instance intended = scene.intended(declared, APP_LAUNCH);
        return scene.remember(new Instance(
                APP_LAUNCH,
                APP,
                "target",
                intended.revision(),
                "app_1",
                intended.inputs(),
                intended.launchedAt(),
                null,
                Instance.Phase.INTENDED,
                ""));
    }

    @Test
    void theFilesOfAnArchiveAreCopiedOnceInEachBoot() throws Exception {
        Workload declared = KataScene.containerOfArchive();
        Instance instance = ofArchive(declared);

        prepare(declared).create(instance);

        int copies = guest.count("CopyFile");
        assertTrue(guest.requests(CopyFileRequest.class).getLast().getPath().endsWith("/homeostat/app/app_1/serve"));
        assertEquals(
                GuestFiles.PLACE + "app/app_1",
                guest.requests(CreateContainerRequest.class)
                        .getFirst()
                        .getOCI()
                        .getRoot()
                        .getPath());
        scene.agent().containers().clear();
        prepare(declared).create(instance);
        assertEquals(copies, guest.count("CopyFile"));
        assertEquals(2, guest.count("CreateContainer"));
    }

    @Test
    void filesThatWereNotAllCopiedAreCopiedAgain() throws Exception {
        Workload declared = KataScene.containerOfArchive();
        Instance instance = ofArchive(declared);
        guest.refuse("CopyFile", Status.INTERNAL, "ENOSPC");
        assertFails(FailureCause.Kind.REFUSED, () -> prepare(declared).create(instance));
        int copies = guest.count("CopyFile");
        guest.heal("CopyFile");

        prepare(declared).create(instance);

        assertTrue(guest.count("CopyFile") > copies);
        assertEquals(List.of("CreateContainer", "CloseStdin", "StartContainer"), steps());
    }

    @Test
    void aContainerWithoutARootFileSystemIsNotAskedFor() {
        Workload declared = KataScene.containerOfArchive();
        assertEquals(
                true,
                ((ContainerSpec) declared.spec())
                        .container()
                        .rootfs()
                        .directory()
                        .isEmpty());

        assertFails(FailureCause.Kind.INPUT_OUTPUT, () -> launch(declared));

        assertEquals(List.of(), steps());
    }
}
