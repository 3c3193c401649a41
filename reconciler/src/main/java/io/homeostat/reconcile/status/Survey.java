package io.homeostat.reconcile.status;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableListMultimap;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSetMultimap;
import com.google.common.collect.Iterables;
import com.google.common.collect.Maps;
import com.google.common.collect.Multimaps;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.DesiredState;
import io.homeostat.desired.model.Probe;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Pause;
import io.homeostat.desired.state.StateReader;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.observe.Observation;
import io.homeostat.observe.Observer;
import io.homeostat.reconcile.logs.LogTails;
import io.homeostat.reconcile.plan.DependencyGraph;
import io.homeostat.reconcile.plan.Neighbours;
import io.homeostat.reconcile.plan.Planner;
import io.homeostat.reconcile.plan.Relations;
import io.homeostat.reconcile.plan.Remembered;
import io.homeostat.reconcile.plan.Situation;
import io.homeostat.reconcile.plan.Situations;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.plan.WorkloadPlan;
import io.homeostat.reconcile.record.ObservationRecorder;
import java.time.InstantSource;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Function;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Looks at all workloads at once and plans for them as the loop would, in memory only: nothing is written, sent or started.
 */
public final class Survey {
    /** How many workloads are looked at at the same time: each takes a thread with a stack. */
    private static final int AT_ONCE = 1_000;

    private final Observer observer;
    private final Memory memory;
    private final LogTails logs;
    private final Function<WorkloadId, Optional<Step>> underWay;
    private final Situations situations;

    /**
     * @param logs say how the log ends of what has ended and nobody has written down yet; with secrets masked
     * @param underWay the step that is being done to a workload, which a look at the machine does not show
     */
    public Survey(
            Observer observer,
            Memory memory,
            LogTails logs,
            Function<WorkloadId, Optional<Step>> underWay,
            InstantSource clock) {
        this.observer = observer;
        this.memory = memory;
        this.logs = logs;
        this.underWay = underWay;
        this.situations = new Situations(observer, memory::of, memory::seed, clock);
    }

    /**
     * What is remembered, all at once.
     *
     * @param seed see {@link StateReader#seed}
     */
    public record Memory(
            ImmutableMap<WorkloadId, WorkloadHistory> histories,
            ImmutableListMultimap<WorkloadId, Instance> instances,
            ImmutableMap<WorkloadId, Pause> pauses,
            long seed) {
        /** For a state directory that does not exist yet. */
        public static final Memory NONE =
                new Memory(ImmutableMap.of(), ImmutableListMultimap.of(), ImmutableMap.of(), 0);

        public static Memory of(StateReader reader) {
            return new Memory(
                    reader.histories(),
                    Multimaps.index(reader.instances(), Instance::workload),
                    Maps.uniqueIndex(reader.pauses(), Pause::workload),
                    reader.seed());
        }

        /** As it is once documents of these workloads have been applied: they and what they need are tried at once. */
        public Memory applied(Collection<WorkloadId> ids, DesiredState desired) {
            Map<WorkloadId, WorkloadHistory> applied =
                    new HashMap<>(tried(DependencyGraph.withNeeds(ids, desired)).histories());
            ids.forEach(id -> applied.computeIfPresent(id, (same, history) -> history.withoutRollback()));
            return new Memory(ImmutableMap.copyOf(applied), instances, pauses, seed);
        }

        /** As it is once somebody wants these tried at once, without a pause after failures. */
        public Memory tried(Collection<WorkloadId> ids) {
            Map<WorkloadId, WorkloadHistory> tried = new HashMap<>(histories);
            ids.forEach(id -> tried.computeIfPresent(id, (same, history) -> history.retriedNow()));
            return new Memory(ImmutableMap.copyOf(tried), instances, pauses, seed);
        }

        /** As if none had crashed before: where no agent runs, the next apply ends a pause after crashes, and nothing else does. */
        public Memory withoutCrashes() {
            return new Memory(
                    ImmutableMap.copyOf(Maps.transformValues(
                            histories,
                            history -> history.withRun(history.run()
                                    .withCrashes(history.run().crashes().forgiven())))),
                    instances,
                    pauses,
                    seed);
        }

        Remembered of(WorkloadId id) {
            return new Remembered(histories.getOrDefault(id, WorkloadHistory.NONE), instances.get(id), pauses.get(id));
        }
    }

    /**
     * One workload.
     *
     * @param remembered its history as stored
     * @param situation as it is now, updated by this look
     * @param plan what the loop would do
     * @param stopping whether the loop is stopping an instance of it just now
     */
    public record Finding(WorkloadHistory remembered, Situation situation, WorkloadPlan plan, boolean stopping) {
        /** What is seen of it, without knowing what the loop does. */
        public Finding(WorkloadHistory remembered, Situation situation, WorkloadPlan plan) {
            this(remembered, situation, plan, false);
        }

        /** The same of another situation, for which the same is planned. */
        public Finding withSituation(Situation other) {
            return new Finding(remembered, other, plan, stopping);
        }

        public WorkloadId id() {
            return situation.id();
        }

        /** True when it is declared, or something of it is left to remove. */
        public boolean matters() {
            return situation.declared() != null || !plan.steps().isEmpty();
        }
    }

    /**
     * Everything that is declared, remembered or left on the machine.
     *
     * @param blind what could not be looked at, and why; empty when all could
     */
    public record Findings(ImmutableList<Finding> workloads, ImmutableList<String> blind) {}

    /** Looks at every workload that is asked for, as it is declared. */
    public Findings everything(DesiredState desired, Situations.Depth depth, Predicate<WorkloadId> asked)
            throws InterruptedException {
        return everything(desired, desired, depth, asked);
    }

    /**
     * Looks at every workload that is asked for, as if something were declared. A probe that nobody has declared yet is not asked: it
     * may be a command.
     *
     * @param stored what is declared
     */
    public Findings everything(
            DesiredState desired, DesiredState stored, Situations.Depth depth, Predicate<WorkloadId> asked)
            throws InterruptedException {
        TreeSet<WorkloadId> ids = new TreeSet<>(desired.declarations().keySet());
        ids.addAll(memory.instances().keySet());
        // What is paused is shown even when nothing is left of it.
        ids.addAll(memory.pauses().keySet());
        ImmutableList.Builder<String> blind = ImmutableList.builder();
        switch (observer.traces()) {
            case Observation.Seen<ImmutableSet<WorkloadId>>(var found) -> ids.addAll(found);
            case Observation.Unseen<ImmutableSet<WorkloadId>>(String why) -> blind.add(why);
        }
        ImmutableSet<String> archives = ImmutableSet.of();
        switch (observer.archives()) {
            case Observation.Seen<ImmutableSet<String>>(var keys) -> archives = keys;
            case Observation.Unseen<ImmutableSet<String>>(String why) -> blind.add(why);
        }
        ids.removeIf(asked.negate());
        DependencyGraph dependencies =
                new DependencyGraph(desired, () -> Maps.toMap(memory.instances().keySet(), memory::of));
        Neighbours neighbours = new Neighbours(memory::of, observer::isGone, other -> false, other -> false);
        return new Findings(
                withParts(look(ids, dependencies, neighbours, stored, depth, archives), dependencies, stored),
                blind.build());
    }

    /** What is part of those that are to be stopped is stopped before. */
    private ImmutableList<Finding> withParts(
            ImmutableList<Finding> findings, DependencyGraph dependencies, DesiredState stored) {
        ImmutableSetMultimap<WorkloadId, WorkloadId> ending = findings.stream()
                .collect(ImmutableSetMultimap.flatteningToImmutableSetMultimap(
                        Finding::id, finding -> finding.plan().parts().stream()));
        Neighbours neighbours = new Neighbours(
                id -> ending.containsKey(id) ? memory.of(id).ending() : memory.of(id),
                observer::isGone,
                other -> false,
                other -> false);
        ImmutableSet<WorkloadId> parts = ImmutableSet.copyOf(ending.values());
        ImmutableList.Builder<Finding> all = ImmutableList.builder();
        for (Finding finding : findings) {
            if (parts.contains(finding.id())) {
                Relations relations = dependencies.of(
                        finding.id(),
                        finding.situation().host(),
                        finding.remembered(),
                        neighbours,
                        ending::containsKey);
                all.add(planned(finding.remembered(), finding.situation().withRelations(relations), stored));
            } else {
                all.add(finding);
            }
        }
        return all.build();
    }

    private ImmutableList<Finding> look(
            Collection<WorkloadId> ids,
            DependencyGraph dependencies,
            Neighbours neighbours,
            DesiredState stored,
            Situations.Depth depth,
            ImmutableSet<String> archives)
            throws InterruptedException {
        if (depth == Situations.Depth.PRESENCE) {
            // Just a few small files each: threads would cost more than they gain.
            return ids.stream()
                    .map(id -> look(id, dependencies, neighbours, stored, depth, archives))
                    .collect(ImmutableList.toImmutableList());
        }
        ImmutableList.Builder<Finding> findings = ImmutableList.builder();
        for (List<WorkloadId> some : Iterables.partition(ids, AT_ONCE)) {
            findings.addAll(lookAtOnce(some, id -> look(id, dependencies, neighbours, stored, depth, archives)));
        }
        return findings.build();
    }

    private static ImmutableList<Finding> lookAtOnce(List<WorkloadId> ids, Function<WorkloadId, Finding> look)
            throws InterruptedException {
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            try {
                ImmutableList<Future<Finding>> looks = ids.stream()
                        .map(id -> threads.submit(() -> look.apply(id)))
                        .collect(ImmutableList.toImmutableList());
                ImmutableList.Builder<Finding> findings = ImmutableList.builder();
                for (Future<Finding> one : looks) {
                    findings.add(one.get());
                }
                return findings.build();
            } finally {
                // When this is interrupted, closing would wait for all looks.
                threads.shutdownNow();
            }
        } catch (ExecutionException e) {
            throw new IllegalStateException("a look broke off: " + e.getCause(), e.getCause());
        }
    }

    private Finding look(
            WorkloadId id,
            DependencyGraph dependencies,
            Neighbours neighbours,
            DesiredState stored,
            Situations.Depth depth,
            ImmutableSet<String> archives) {
        DesiredState desired = dependencies.desired();
        Declaration wanted = desired.get(id).orElse(null);
        Declaration declared = stored.get(id).orElse(null);
        Situation before = situations.look(
                id,
                desired,
                (host, own) -> dependencies.of(id, host, own, neighbours, other -> false),
                archives,
                isProbedAlike(wanted, declared) ? depth : Situations.Depth.PRESENCE);
        Situation learned =
                ObservationRecorder.observed(before, logs.lastWords(before)).situation();
        return planned(before.history(), learned, stored);
    }

    private Finding planned(WorkloadHistory remembered, Situation learned, DesiredState stored) {
        WorkloadId id = learned.id();
        Step step = underWay.apply(id).orElse(null);
        WorkloadPlan plan = step instanceof Step.Start ? Planner.planDuringStart(learned) : Planner.plan(learned);
        Declaration declared = stored.get(id).orElse(null);
        return new Finding(
                remembered,
                learned,
                Differences.shown(plan, declared, learned.declared(), remembered),
                step instanceof Step.Stop);
    }

    private static boolean isProbedAlike(@Nullable Declaration wanted, @Nullable Declaration declared) {
        Probe probe = wanted == null ? null : wanted.workload().spec().probe();
        return probe == null
                || (declared != null && probe.equals(declared.workload().spec().probe()));
    }
}
