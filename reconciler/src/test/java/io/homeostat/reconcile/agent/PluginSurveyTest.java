package io.homeostat.reconcile.agent;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.Lifecycle;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.platform.MetadataServer;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.observe.MachineObserver;
import io.homeostat.observe.process.ProcFs;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.runtime.InstanceObservers;
import io.homeostat.reconcile.runtime.Machine;
import io.homeostat.reconcile.sim.Declarations;
import io.homeostat.reconcile.sim.MemoryStore;
import io.homeostat.reconcile.status.Survey.Finding;
import io.homeostat.reconcile.status.WorkloadState;
import io.homeostat.reconcile.status.WorkloadStatus;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A machine without a process, on which two plugins are declared: whoever asks waits for the loop, but not for ever. */
@Timeout(120)
class PluginSurveyTest {
    private static final Duration LONG = Duration.ofHours(1);
    private static final WorkloadId A = WorkloadId.plugin("a");
    private static final WorkloadId B = WorkloadId.plugin("b");
    private static final WorkloadId PROCESS = WorkloadId.process("p");

    @TempDir
    Path directory;

    private final Clock clock = Clock.systemUTC();
    private final DeclaredState declared = new DeclaredState();
    private final ExecutorService asking = Executors.newSingleThreadExecutor();
    private InstanceObservers instances;
    private MachineObserver observer;

    @BeforeEach
    void declare() {
        Declarations declarations = new Declarations();
        for (WorkloadId id : List.of(A, B, PROCESS)) {
            declarations.declare(id, "1", ImmutableList.of(), null);
        }
        declared.become(declarations.now());
        Layout layout = new Layout(directory, directory, "i");
        instances = new InstanceObservers(new Machine(layout, new ProcFs(), clock, id -> ImmutableList.of()));
        observer = instances.with(path -> new MetadataServer.Answer.Absent());
    }

    @AfterEach
    void close() {
        asking.shutdownNow();
        instances.close();
    }

    private PluginSurvey looks(Duration patience) {
        return new PluginSurvey(declared, new MemoryStore(), observer, id -> "", clock, patience);
    }

    private static List<WorkloadId> names(PluginSurvey looks) throws InterruptedException {
        return looks.plugins().stream()
                .map(Finding::id)
                .filter(id -> id.kind().equals(Kind.PLUGIN))
                .toList();
    }

    @Test
    void whoAsksWaitsUntilTheLoopHasBeenAtEveryPlugin() throws Exception {
        PluginSurvey looks = looks(LONG);
        Future<List<WorkloadId>> answer = asking.submit(() -> names(looks));

        looks.broken(PROCESS, new IllegalStateException());
        looks.broken(A, new IllegalStateException());
        await().during(Duration.ofMillis(200)).until(() -> !answer.isDone());
        looks.broken(B, new IllegalStateException());

        assertEquals(List.of(A, B), answer.get(60, TimeUnit.SECONDS));
    }

    @Test
    void onceAllHaveBeenLookedAtNobodyWaitsForWhatIsDeclaredLater() throws Exception {
        PluginSurvey looks = looks(LONG);
        looks.broken(A, new IllegalStateException());
        looks.broken(B, new IllegalStateException());
        assertEquals(List.of(A, B), names(looks));

        Declarations more = new Declarations();
        more.declare(WorkloadId.plugin("c"), "1", ImmutableList.of(), null);
        declared.become(more.now());

        assertEquals(List.of(WorkloadId.plugin("c")), names(looks));
    }

    @Test
    void whenPatienceIsOverWhatCanBeSeenIsTold() throws Exception {
        PluginSurvey looks = looks(Duration.ofMillis(300));
        long begun = System.nanoTime();

        assertEquals(List.of(A, B), names(looks));

        assertFalse(System.nanoTime() - begun < TimeUnit.MILLISECONDS.toNanos(300), "it did not wait");
    }

    @Test
    void whileItIsStoppedAPluginIsSaidToBeStopping() throws Exception {
        PluginSurvey looks = looks(LONG);
        looks.broken(A, new IllegalStateException());
        looks.broken(B, new IllegalStateException());
        Instance instance =
                new Instance("l", A, "h", "1", null, ImmutableSortedMap.of(), clock.instant(), null, Phase.STARTED, "");

        looks.starting(new Step.Stop(instance, Step.Stop.Cause.REPLACED, false, new Lifecycle.Stop(LONG)));

        assertEquals(List.of(WorkloadState.STOPPING, WorkloadState.INSTALLING), states(looks));
        looks.broken(A, new IllegalStateException());
        assertEquals(List.of(WorkloadState.INSTALLING, WorkloadState.INSTALLING), states(looks));
    }

    private static List<WorkloadState> states(PluginSurvey looks) throws InterruptedException {
        return looks.plugins().stream()
                .map(finding -> WorkloadStatus.of(finding).state())
                .toList();
    }
}
