package io.homeostat.reconcile.runtime.kata;

import static io.homeostat.reconcile.runtime.kata.KataScene.APP;
import static io.homeostat.reconcile.runtime.kata.KataScene.APP_LAUNCH;
import static io.homeostat.reconcile.runtime.kata.KataScene.SANDBOX_LAUNCH;
import static io.homeostat.reconcile.runtime.kata.KataScene.assertFails;
import static io.homeostat.reconcile.runtime.kata.KataScene.container;
import static io.homeostat.reconcile.runtime.kata.KataScene.containerNamed;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableSet;
import io.grpc.Status;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.observe.guest.UnreachableGuest.Reason;
import io.homeostat.proto.kata.CreateContainerRequest;
import io.homeostat.reconcile.runtime.KindRuntime.Creation;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Containers that see each other's processes: the namespace begins with the first of them, and ends with it. */
@Timeout(120)
class SharedPidsTest extends KataTestBed {
    private static final Workload OTHER = containerNamed("other");

    private MemoryGuest guest;
    private ContainerRuntime runtime;
    private Instance sandbox;

    @BeforeEach
    void setUp() throws Exception {
        guest = scene.guest();
        runtime = new ContainerRuntime(scene.machine(), scene.containers(scene.machine()));
        sandbox = scene.runningSandbox();
        scene.mark(sandbox, "shared-pids");
    }

    private Creation prepare(Workload declared) throws Exception {
        return runtime.prepare(scene.launchStep(declared, SANDBOX_LAUNCH), ImmutableSet.of());
    }

    private Instance launch(Workload declared, String launchId) throws Exception {
        Creation creation = prepare(declared);
        Instance instance = scene.remember(scene.intended(declared, launchId));
        return scene.remember(instance.withIdentity(creation.create(instance)));
    }

    private Optional<Path> first() throws Exception {
        return scene.sandboxNotes().firstContainer(sandbox);
    }

    private Path launchOf(Instance instance) {
        return scene.layout().launch(instance.workload(), instance.launchId());
    }

    @Test
    void theFirstContainerIsNotedBeforeItIsAskedFor() throws Exception {
        boolean[] noted = new boolean[1];
        guest.atNext("CreateContainer", () -> noted[0] = scene.isMarked(sandbox, "first-container"));

        Instance instance = launch(container(), APP_LAUNCH);

        assertTrue(noted[0]);
        assertEquals(Optional.of(launchOf(instance)), first());
        assertTrue(guest.requests(CreateContainerRequest.class).getFirst().getSandboxPidns());
    }

    @Test
    void othersJoinItForAsLongAsItRuns() throws Exception {
        Instance instance = launch(container(), APP_LAUNCH);

        launch(OTHER, "c-2");

        assertEquals(Optional.of(launchOf(instance)), first());
        assertTrue(guest.requests(CreateContainerRequest.class).getLast().getSandboxPidns());
        assertEquals(2, guest.count("StartContainer"));
        assertFalse(scene.isMarked(sandbox, "shared-pids-lost"));
    }

    private void assertNoneJoins() {
        assertFails(FailureCause.Kind.GUEST_LOST, () -> launch(OTHER, "c-2"));

        assertEquals(1, guest.count("CreateContainer"));
        assertTrue(scene.isMarked(sandbox, "shared-pids-lost"));
    }

    @Test
    void nobodyJoinsAFirstContainerThatWasStopped() throws Exception {
        scene.mark(launch(container(), APP_LAUNCH), "ended");

        assertNoneJoins();
    }

    @Test
    void nobodyJoinsAFirstContainerThatHasEnded() throws Exception {
        Instance instance = launch(container(), APP_LAUNCH);
        scene.containerNotes().writeExit(instance, new Exit(0, null, Exit.Reason.EXITED, scene.now()));

        assertNoneJoins();
    }

    @Test
    void nobodyJoinsAFirstContainerThatIsForgotten() throws Exception {
        launch(container(), APP_LAUNCH);
        scene.launches().forget(APP, APP_LAUNCH);

        assertNoneJoins();
    }

    @Test
    void aFirstContainerThatIsRefusedWasNone() throws Exception {
        guest.refuse("CreateContainer", Status.INTERNAL, "no such rootfs");
        assertFails(FailureCause.Kind.REFUSED, () -> launch(container(), APP_LAUNCH));
        assertTrue(first().isEmpty());
        guest.heal("CreateContainer");

        Instance next = launch(OTHER, "c-2");

        assertEquals(Optional.of(launchOf(next)), first());
    }

    @Test
    void aFirstContainerWhoseCreationIsNotAnsweredMayBeThere() throws Exception {
        guest.silence("CreateContainer");
        assertFails(FailureCause.Kind.TIMED_OUT, () -> launch(container(), APP_LAUNCH));

        assertTrue(first().isPresent());
    }

    @Test
    void aFirstContainerMayBeThereWhenTheConnectionBreaks() throws Exception {
        guest.lose("CreateContainer");
        assertFails(FailureCause.Kind.CONNECTION_LOST, () -> launch(container(), APP_LAUNCH));

        assertTrue(first().isPresent());
    }

    @Test
    void aFirstContainerThatCouldNotBeAskedForWasNone() throws Exception {
        Creation creation = prepare(container());
        guest.vanish(Reason.REFUSED);

        assertFails(
                FailureCause.Kind.CONNECTION_LOST,
                () -> creation.create(scene.remember(scene.intended(container(), APP_LAUNCH))));

        assertTrue(first().isEmpty());
    }

    @Test
    void whoWaitsForTheFirstContainerDoesNotWaitForEver() throws Exception {
        Creation early = prepare(container());
        Creation late = prepare(containerNamed("other", "start: {timeout: 20ms}"));
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch goesOn = new CountDownLatch(1);
        guest.atNext("CreateContainer", () -> {
            begun.countDown();
            try {
                goesOn.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
        Instance instance = scene.remember(scene.intended(container(), APP_LAUNCH));
        try (var other = Executors.newVirtualThreadPerTaskExecutor()) {
            Future<?> made = other.submit(() -> early.create(instance));
            begun.await();

            assertFails(FailureCause.Kind.TIMED_OUT, () -> late.create(scene.intended(OTHER, "c-2")));

            goesOn.countDown();
            made.get();
        }
        assertEquals(1, guest.count("CreateContainer"));
        late.create(scene.intended(OTHER, "c-2"));
        assertEquals(2, guest.count("CreateContainer"));
    }
}
