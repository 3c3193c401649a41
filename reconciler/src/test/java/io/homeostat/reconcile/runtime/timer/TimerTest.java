package io.homeostat.reconcile.runtime.timer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.Iterables;
import io.homeostat.actuate.fetch.Downloader.Progress;
import io.homeostat.desired.model.Lifecycle.Limits;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.model.schema.Size;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.platform.MetadataServer;
import io.homeostat.desired.source.StoredState;
import io.homeostat.desired.state.EventType;
import io.homeostat.desired.state.Identity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.StateStore.Change;
import io.homeostat.desired.state.StateStore.ToApply;
import io.homeostat.desired.state.history.Condition;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.desired.state.sqlite.StateStores;
import io.homeostat.desired.yaml.DocumentReader;
import io.homeostat.desired.yaml.DocumentReader.Input;
import io.homeostat.desired.yaml.DocumentReader.ReadResult;
import io.homeostat.desired.yaml.Explain;
import io.homeostat.desired.yaml.JsonSchema;
import io.homeostat.observe.process.ProcFs;
import io.homeostat.reconcile.loop.MachineSteps;
import io.homeostat.reconcile.loop.MachineSteps.ArchiveRules;
import io.homeostat.reconcile.loop.PassListener;
import io.homeostat.reconcile.loop.PassResult;
import io.homeostat.reconcile.loop.WorkloadPass;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.runtime.InstanceObservers;
import io.homeostat.reconcile.runtime.Machine;
import io.homeostat.reconcile.runtime.Runtimes;
import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeSet;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A kind that no main class knows is reconciled as all others are, with everything but the machine being the real thing. */
final class TimerTest {
    private static final WorkloadId TICK = new WorkloadId(TimerKind.TIMER, "tick");
    private static final WorkloadId CLOCK = new WorkloadId(TimerKind.TIMER, "clock");
    private static final int MOST_PASSES = 200;

    @TempDir
    Path directory;

    private final List<String> steps = new ArrayList<>();
    private Instant now = Instant.parse("2026-11-20T12:00:00Z");
    private final InstantSource clock = () -> now;
    private Layout layout;
    private Timers timers;
    private StateStore store;
    private Machine machine;
    private InstanceObservers instances;
    private MachineSteps executor;
    private WorkloadPass pass;

    @BeforeEach
    void open() throws Exception {
        layout = new Layout(directory.resolve("state"), Files.createDirectory(directory.resolve("run")), "i");
        timers = Timers.of(layout.stateDir());
        store = StateStores.openForWriting(layout, Clock.systemUTC()).store();
        machine = new Machine(layout, new ProcFs(), clock, store::instances);
        instances = new InstanceObservers(machine);
        Runtimes runtimes = new Runtimes(instances);
        executor = new MachineSteps(layout, store, runtimes, clock, () -> ArchiveRules.DEFAULT, id -> Progress.NONE);
        pass = new WorkloadPass(
                () -> StoredState.desired(store.declarations()),
                instances.with(path -> new MetadataServer.Answer.Absent()),
                executor,
                store,
                clock,
                id -> "",
                new Recorder(),
                Runnable::run);
    }

    @AfterEach
    void close() {
        executor.close();
        instances.close();
        store.close();
    }

    @Test
    void isLaunchedAsDeclaredAndThenLeftAlone() {
        apply(timer("tick", "1", "5s"));
        settle();

        assertEquals(List.of("launch"), steps);
        Instance instance = only(TICK);
        assertEquals(Phase.STARTED, instance.phase());
        assertEquals(new Identity.Task("timers", instance.launchId(), "", null, null), instance.identity());
        assertTrue(timers.running.containsKey(instance.launchId()));
        assertTrue(events().contains(EventType.PLUGIN_STARTED));
        steps.clear();
        settle();
        assertEquals(List.of(), steps);
    }

    @Test
    void isLaunchedAgainWhenItEndedAndWhenItsDeclarationChanged() {
        apply(timer("tick", "1", "5s"));
        settle();
        Instance first = only(TICK);

        timers.running.remove(first.launchId());
        settle();

        Instance second = only(TICK);
        assertNotEquals(first.launchId(), second.launchId());
        assertTrue(events().contains(EventType.PLUGIN_CRASHED));

        steps.clear();
        apply(timer("tick", "1", "7s"));
        settle();

        assertEquals(List.of("stop", "launch"), steps);
        assertNotEquals(second.launchId(), only(TICK).launchId());
        assertEquals(ImmutableSet.of(only(TICK).launchId()), timers.running.keySet());
    }

    @Test
    void aRevisionThatCantBeCreatedIsTakenBack() {
        apply(timer("tick", "1", "5s"));
        settle();

        apply(timer("tick", "broken", "5s"));
        settle();

        assertEquals("1", only(TICK).revision());
        assertEquals(Phase.STARTED, only(TICK).phase());
        assertEquals(
                "broken", Objects.requireNonNull(store.history(TICK).failed()).revision());
        assertEquals(ImmutableSet.of(only(TICK).launchId()), timers.running.keySet());
    }

    @Test
    void whatIsPartOfAnotherIsLaunchedAfterItAndAgainWithIt() {
        apply(timer("clock", "1", "5s"), timer("tick", "1", "1s") + "  parent: timer/clock\n");
        settle();
        Instance parent = only(CLOCK);
        Instance part = only(TICK);

        timers.running.remove(parent.launchId());
        settle();

        assertNotEquals(parent.launchId(), only(CLOCK).launchId());
        assertNotEquals(part.launchId(), only(TICK).launchId());
        assertEquals(ImmutableSet.of(only(CLOCK).launchId(), only(TICK).launchId()), timers.running.keySet());
    }

    @Test
    void whoCreatesAndSeesItKnowsTheInstanceThatItIsPartOf() {
        apply(timer("clock", "1", "5s"), timer("tick", "1", "1s") + "  parent: timer/clock\n");
        settle();

        ImmutableMap<String, Identity> parents = ImmutableMap.of(
                only(TICK).launchId(), Objects.requireNonNull(only(CLOCK).identity()));
        assertEquals(parents, timers.createdIn);
        assertEquals(parents, timers.seenIn);
    }

    @Test
    void anInstanceThatIsOverIsNobodysParentAlthoughSomethingOfItIsLeft() {
        apply(timer("clock", "1", "5s"), timer("tick", "1", "1s") + "  parent: timer/clock\n");
        settle();
        Instance parent = only(CLOCK);
        assertEquals(Optional.of(parent), machine.parent(only(TICK)));

        timers.sticky = true;
        timers.running.remove(parent.launchId());
        pass.run(CLOCK);

        assertTrue(store.instances(CLOCK).stream()
                .anyMatch(over -> over.isOver() && over.launchId().equals(parent.launchId())));
        assertEquals(Optional.empty(), machine.parent(only(TICK)));
    }

    @Test
    void itsArchiveIsInstalledAlthoughNothingOfItIsExecuted() throws Exception {
        Path archive = directory.resolve("sounds.zip");
        try (ZipOutputStream zip = new ZipOutputStream(Files.newOutputStream(archive))) {
            zip.putNextEntry(new ZipEntry("tick.wav"));
        }

        apply(timer("tick", "1", "5s") + "  source: {url: \"" + archive.toUri() + "\"}\n");
        settle();

        assertEquals(List.of("download", "unpack", "activate", "launch"), steps);
        String installation = Objects.requireNonNull(only(TICK).directory());
        assertTrue(Files.exists(layout.install(TICK, installation).resolve("tick.wav")));
    }

    @Test
    void itsLimitsAreSetOnceAndAgainWhenSomebodyChangedThem() {
        Limits declared = new Limits(new Size(64 << 20), null, false);
        apply(timer("tick", "1", "5s") + "  limits: {memory: 64Mi}\n");
        settle();

        assertEquals(List.of("launch", "setLimits"), steps);
        assertEquals(declared, timers.limits.get(only(TICK).launchId()));

        steps.clear();
        timers.limits.put(only(TICK).launchId(), Limits.NONE);
        settle();

        assertEquals(List.of("setLimits"), steps);
        assertEquals(declared, timers.limits.get(only(TICK).launchId()));
    }

    @Test
    void whatEndsWithItsParentHasNotCrashed() {
        apply(timer("clock", "1", "5s"), timer("tick", "1", "1s") + "  parent: timer/clock\n");
        settle();
        steps.clear();

        timers.running.clear();
        settle();

        assertEquals(List.of("launch", "launch"), steps);
        assertEquals(1, store.history(CLOCK).run().crashes().count());
        assertEquals(0, store.history(TICK).run().crashes().count());
        assertEquals(
                List.of("timer/clock PLUGIN_CRASHED", "timer/tick PLUGIN_STOPPED"),
                store.events(0, 1000).stream()
                        .map(stored ->
                                stored.event().workload() + " " + stored.event().type())
                        .filter(event -> event.endsWith("CRASHED") || event.endsWith("STOPPED"))
                        .toList());
        assertEquals(ImmutableSet.of(only(CLOCK).launchId(), only(TICK).launchId()), timers.running.keySet());
    }

    @Test
    void limitsThatItsKindCantHaveAreToldWithARemedy() {
        apply(timer("tick", "boundless", "5s") + "  limits: {memory: 64Mi}\n");
        settle();

        Condition told = store.history(TICK).conditions().stream()
                .filter(condition -> condition.type() == Condition.Type.LIMITS_NOT_ENFORCED)
                .findFirst()
                .orElseThrow();
        assertEquals("nothing limits a Timer; remove spec.limits", told.message());
        assertEquals(1, timers.running.size());
    }

    @Test
    void isNotLaunchedWithoutLimitsThatItRequires() {
        apply(timer("tick", "boundless", "5s") + "  limits: {memory: 64Mi, required: true}\n");
        settle();

        assertEquals(List.of(), steps);
        assertTrue(
                store.history(TICK).conditions().stream()
                        .anyMatch(condition -> condition.reason() == Reason.LIMITS_NOT_ENFORCEABLE),
                () -> store.history(TICK).conditions().toString());
    }

    @Test
    void isRemovedWhenNobodyDeclaresItAnyMore() {
        apply(timer("tick", "1", "5s"));
        settle();

        store.delete(ImmutableList.of(TICK));
        settle();

        assertEquals(ImmutableList.of(), store.instances());
        assertTrue(timers.running.isEmpty());
        assertEquals(ImmutableSet.of(), timers.remains.keySet());
        assertTrue(events().contains(EventType.PLUGIN_REMOVED));
    }

    @Test
    void isNotRemovedAsLongAsSomethingOfAnInstanceIsLeft() {
        apply(timer("tick", "1", "5s"));
        settle();

        timers.sticky = true;
        store.delete(ImmutableList.of(TICK));
        settle();

        assertTrue(events().contains(EventType.PLUGIN_REMOVE_FAILED));
        assertFalse(events().contains(EventType.PLUGIN_REMOVED));

        timers.sticky = false;
        now = now.plus(Duration.ofHours(1));
        settle();

        assertEquals(ImmutableSet.of(), timers.remains.keySet());
        assertEquals(ImmutableList.of(), store.instances());
        assertTrue(events().contains(EventType.PLUGIN_REMOVED));
    }

    @Test
    void isNotRemovedEitherWhenItEndedByItselfBeforeItWasWithdrawn() {
        apply(timer("tick", "1", "5s"));
        settle();

        timers.sticky = true;
        timers.running.remove(only(TICK).launchId());
        store.delete(ImmutableList.of(TICK));
        settle();

        assertEquals(1, timers.remains.size());
        assertFalse(events().contains(EventType.PLUGIN_REMOVED));

        timers.sticky = false;
        now = now.plus(Duration.ofHours(1));
        settle();

        assertEquals(ImmutableSet.of(), timers.remains.keySet());
        assertEquals(ImmutableList.of(), store.instances());
        assertTrue(events().contains(EventType.PLUGIN_REMOVED));
    }

    @Test
    void whatAnInstanceLeftIsRemovedOnceItsEndIsStored() {
        apply(timer("tick", "1", "5s"));
        settle();
        String first = only(TICK).launchId();
        List<String> seen = new ArrayList<>();
        timers.onDestroy =
                launchId -> seen.add(only(TICK).launchId() + " " + only(TICK).phase() + " " + events().getLast());

        timers.running.remove(first);
        settle();

        assertEquals(List.of(first + " ENDED PLUGIN_CRASHED"), seen);
        assertEquals(ImmutableSet.of(only(TICK).launchId()), timers.remains.keySet());
    }

    @Test
    void whatAnInstanceLeftCanBeLookedAtWhileItsWorkloadIsPaused() {
        apply(timer("tick", "1", "5s"));
        settle();
        String first = only(TICK).launchId();
        store.pause(TICK, "a look by hand", now);

        timers.running.remove(first);
        settle();

        assertEquals(Phase.ENDED, only(TICK).phase());
        assertEquals(ImmutableSet.of(first), timers.remains.keySet());

        store.resume(TICK, "", now);
        settle();

        assertNotEquals(first, only(TICK).launchId());
        assertEquals(ImmutableSet.of(only(TICK).launchId()), timers.remains.keySet());
    }

    @Test
    void nothingIsLeftOfWhatWasStopped() {
        apply(timer("tick", "1", "5s"));
        settle();

        store.stop(TICK, "", now);
        settle();

        assertEquals(ImmutableList.of(), store.instances());
        assertEquals(ImmutableSet.of(), timers.remains.keySet());
    }

    @Test
    void whatCouldNotBeRemovedIsRemovedByALaterPassAndHoldsNothingUp() {
        apply(timer("tick", "1", "5s"));
        settle();
        String first = only(TICK).launchId();
        timers.sticky = true;
        timers.running.remove(first);
        settle();

        assertEquals(1, timers.running.size(), "launched again all the same");
        assertEquals(2, timers.remains.size());

        timers.sticky = false;
        settle();

        assertNotEquals(first, only(TICK).launchId());
        assertEquals(ImmutableSet.of(only(TICK).launchId()), timers.remains.keySet());
    }

    @Test
    void aDefectInRemovingOneHoldsUpNeitherItsSuccessorNorTheRemovalOfOthers() {
        apply(timer("tick", "1", "5s"));
        settle();
        String first = only(TICK).launchId();
        timers.onDestroy = launchId -> {
            if (launchId.equals(first)) {
                throw new IllegalStateException("a defect");
            }
        };
        timers.running.remove(first);
        settle();

        String second = Iterables.getOnlyElement(timers.running.keySet());
        timers.running.remove(second);
        settle();
        now = now.plus(Duration.ofHours(1));
        settle();

        String third = Iterables.getOnlyElement(timers.running.keySet());
        assertNotEquals(second, third);
        assertEquals(ImmutableSet.of(first, third), timers.remains.keySet());
    }

    @Test
    void aStopIsWrittenDownBeforeItIsDone() {
        apply(timer("tick", "1", "5s"));
        settle();
        List<Phase> stopped = new ArrayList<>();
        timers.onStop = () -> stopped.add(only(TICK).phase());

        apply(timer("tick", "2", "5s"));
        settle();

        assertEquals(List.of(Phase.STOPPING), stopped);
        assertEquals("2", only(TICK).revision());
    }

    @Test
    void aStopThatWasBrokenOffIsDoneAgain() {
        apply(timer("tick", "1", "5s"));
        settle();
        Instance instance = only(TICK);
        store.commit(Change.ofInstance(instance.withPhase(Phase.STOPPING, "")));

        settle();

        assertNotEquals(instance.launchId(), only(TICK).launchId());
        assertEquals(ImmutableSet.of(only(TICK).launchId()), timers.running.keySet());
    }

    @Test
    void readerSchemaAndExplainKnowIt() {
        ReadResult unknown = read(timer("tick", "1", "5s") + "  dependsOn: [clockwork/a]\n");
        assertTrue(
                unknown.errors().getFirst().message().contains("timer/NAME"),
                () -> unknown.errors().toString());
        ReadResult noParent = read(timer("tick", "1", "5s") + "  parent: clock\n");
        assertTrue(
                noParent.errors().getFirst().message().contains("timer/NAME"),
                () -> noParent.errors().toString());
        assertTrue(JsonSchema.generate().contains("\"Timer\""));
        assertTrue(Explain.text("Timer.spec.interval").contains("How often it fires."));
        assertEquals(TICK, WorkloadId.parse("timer/tick").orElseThrow());
    }

    private static String timer(String name, String revision, String interval) {
        return """
                ---
                apiVersion: homeostat.io/v1
                kind: Timer
                metadata: {name: %s}
                spec:
                  revision: "%s"
                  interval: %s
                """.formatted(name, revision, interval);
    }

    private static ReadResult read(String yaml) {
        return DocumentReader.readAll(List.of(new Input.Stream(
                "test", new ByteArrayInputStream(yaml.getBytes(StandardCharsets.UTF_8)), Path.of("/base"))));
    }

    private void apply(String... documents) {
        ReadResult result = read(String.join("", documents));
        assertEquals(List.of(), result.errors());
        store.apply(
                result.workloads().stream()
                        .map(read -> new ToApply(read.workload(), "test"))
                        .collect(ImmutableList.toImmutableList()),
                ImmutableSet.of(),
                false);
    }

    /** Passes for all workloads, the clock put forward whenever all of them wait, until nothing is left to do. */
    private void settle() {
        for (int passes = 0; passes < MOST_PASSES; passes++) {
            TreeSet<WorkloadId> all = new TreeSet<>(
                    StoredState.desired(store.declarations()).declarations().keySet());
            store.instances().forEach(instance -> all.add(instance.workload()));
            if (all.isEmpty()) {
                all.add(TICK);
            }
            boolean busy = false;
            Instant next = Instant.MAX;
            for (WorkloadId id : all) {
                switch (pass.run(id)) {
                    case PassResult.Again again -> busy = true;
                    case PassResult.UnderWay underWay -> busy = true;
                    case PassResult.Later(var plan, Step.Wait until) -> {
                        if (until.kind() == Step.Wait.Kind.PROGRESS
                                && until.until().isBefore(next)) {
                            next = until.until();
                        }
                    }
                    case PassResult.Settled settled -> {}
                }
            }
            if (!busy && next.equals(Instant.MAX)) {
                return;
            }
            if (!busy) {
                now = next.isAfter(now) ? next : now.plusMillis(1);
            }
        }
        throw new AssertionError("does not come to rest: " + steps);
    }

    private Instance only(WorkloadId id) {
        ImmutableList<Instance> instances = store.instances(id);
        assertEquals(1, instances.size(), instances::toString);
        return instances.getFirst();
    }

    private List<EventType> events() {
        return store.events(0, 1000).stream()
                .map(stored -> stored.event().type())
                .toList();
    }

    private final class Recorder implements PassListener {
        @Override
        public void starting(Step step) {
            steps.add(step.word());
        }

        @Override
        public void broken(WorkloadId id, Throwable problem) {
            throw new AssertionError(id + " broke", problem);
        }
    }
}
