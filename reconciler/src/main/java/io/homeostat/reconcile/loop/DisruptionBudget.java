package io.homeostat.reconcile.loop;

import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.Sets;
import io.homeostat.desired.model.DesiredState;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.StateReader;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.observe.Observer;
import io.homeostat.observe.host.HostFacts;
import io.homeostat.reconcile.plan.DependencyGraph;
import io.homeostat.reconcile.plan.Neighbours;
import io.homeostat.reconcile.plan.Relations;
import io.homeostat.reconcile.plan.Remembered;
import java.time.Duration;
import java.time.Instant;
import java.util.HashSet;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** Whom a change of a workload concerns, and which workloads are down for a change; shared by all passes. */
final class DisruptionBudget {
    /** For so long the end of what can't be looked at is waited for: who would say how it is may just be busy. */
    private static final Duration PATIENCE = Duration.ofMinutes(1);

    private final DesiredSource desired;
    private final StateReader store;
    private final Observer observer;
    private final Map<WorkloadId, Standing> standings = new ConcurrentHashMap<>();
    /** Stopped for a change and not well again yet. Guarded by itself. */
    private final Set<WorkloadId> disrupted = new HashSet<>();

    /** Told to stop since the last look; what was stored before no longer describes them. */
    private final Set<WorkloadId> stopped = ConcurrentHashMap.newKeySet();

    /** To be stopped once what is part of them has ended. */
    private final Set<WorkloadId> ending = ConcurrentHashMap.newKeySet();

    /** Workloads that can't be looked at. Not stored: each agent counts from its own start. */
    private final Map<WorkloadId, Blindness> unseen = new ConcurrentHashMap<>();

    /** From the latest look at the host; null before the first one. */
    private volatile @Nullable HostFacts lastSeen;

    private volatile DependencyGraph dependencies = new DependencyGraph(DesiredState.EMPTY, ImmutableMap::of);

    /**
     * What other workloads may care about.
     *
     * @param formerly what it depended on, if it is no longer declared
     */
    private record Standing(
            boolean well, boolean alive, boolean wanted, boolean ends, ImmutableSet<WorkloadId> formerly) {
        static final Standing UNKNOWN = new Standing(false, false, false, false, ImmutableSet.of());
    }

    /** From the first to the latest of the looks at a workload that saw nothing, with none between them that did. */
    private record Blindness(Instant since, Instant until) {
        boolean isLong() {
            return Duration.between(since, until).compareTo(PATIENCE) >= 0;
        }
    }

    DisruptionBudget(DesiredSource desired, StateReader store, Observer observer) {
        this.desired = desired;
        this.store = store;
        this.observer = observer;
    }

    private DependencyGraph dependencies() {
        return dependencies(desired.now());
    }

    private DependencyGraph dependencies(DesiredState wanted) {
        DependencyGraph known = dependencies;
        return known.isOf(wanted) ? known : newDependencies(wanted);
    }

    /** By one of the passes that all need it when something else is declared. */
    private synchronized DependencyGraph newDependencies(DesiredState wanted) {
        DependencyGraph known = dependencies;
        if (!known.isOf(wanted)) {
            known = new DependencyGraph(wanted, () -> leftOver(wanted));
            dependencies = known;
        }
        return known;
    }

    /** The state of the workloads that matter to this one. */
    Relations of(WorkloadId id, DesiredState wanted, HostFacts host, WorkloadHistory own) {
        lastSeen = host;
        Set<WorkloadId> changing;
        synchronized (disrupted) {
            changing = ImmutableSet.copyOf(disrupted);
        }
        return dependencies(wanted).of(id, host, own, neighbours(changing::contains), ending::contains);
    }

    /**
     * Claims one of the places of workloads that may be down for a change at the same time.
     *
     * @return false when all are taken; a place is held until the workload is well again
     */
    boolean takePlace(WorkloadId id, HostFacts host, int places) {
        synchronized (disrupted) {
            if (dependencies().down(id, host, neighbours(disrupted::contains)).size() >= places) {
                return false;
            }
            disrupted.add(id);
            return true;
        }
    }

    /**
     * Call before a workload is stopped: dependants that look from now on do not take it for well, not even if the outcome is lost. One
     * that has looked just before is launched all the same, as if the dependency had ended by itself a moment later.
     */
    void stopping(WorkloadId id) {
        stopped.add(id);
    }

    /** Says whether a workload waits to be stopped until what is part of it has ended: as long as it does, nobody takes it for well. */
    void ends(WorkloadId id, boolean ends) {
        if (ends) {
            ending.add(id);
        } else {
            ending.remove(id);
        }
    }

    /**
     * Call when the result of a look has been stored.
     *
     * @param blind whether nothing could be seen
     */
    void looked(WorkloadId id, boolean blind, Instant at) {
        stopped.remove(id);
        if (blind) {
            unseen.merge(id, new Blindness(at, at), (before, now) -> new Blindness(before.since(), now.until()));
        } else {
            unseen.remove(id);
        }
    }

    private boolean isUnseen(WorkloadId id) {
        Blindness blindness = unseen.get(id);
        return blindness != null && blindness.isLong();
    }

    /**
     * Call when a pass is over.
     *
     * @return the workloads that the changes since the previous pass may concern
     */
    ImmutableSet<WorkloadId> concernedBy(WorkloadId id) {
        HostFacts host = lastSeen;
        if (host == null) {
            return ImmutableSet.of();
        }
        DependencyGraph now = dependencies();
        Remembered neighbour = look(id);
        boolean wanted = desired.now().get(id).isPresent();
        Standing standing = new Standing(
                now.isWell(id, host, neighbour),
                !neighbour.instances().isEmpty(),
                wanted,
                ending.contains(id),
                wanted ? ImmutableSet.of() : DependencyGraph.formerNeeds(neighbour));
        if (standing.well() || !standing.wanted()) {
            synchronized (disrupted) {
                disrupted.remove(id);
            }
        }
        Standing before = standing.wanted() || standing.alive() ? standings.put(id, standing) : standings.remove(id);
        if (standing.equals(before)) {
            return ImmutableSet.of();
        }
        // Once it has stopped, only its previous standing tells what it depended on.
        ImmutableSet<WorkloadId> others = standing.wanted()
                ? Sets.union(now.stoppedAfter(id, neighbour), Sets.intersection(now.needs(id), ending))
                        .immutableCopy()
                : Sets.union(
                                standing.formerly(),
                                Objects.requireNonNullElse(before, Standing.UNKNOWN)
                                        .formerly())
                        .immutableCopy();
        return Sets.union(now.concernedBy(id), others).immutableCopy();
    }

    private Neighbours neighbours(Predicate<WorkloadId> changing) {
        return new Neighbours(this::look, observer::isGone, changing, this::isUnseen);
    }

    private Remembered look(WorkloadId id) {
        Remembered remembered = Remembered.by(store, id);
        if (stopped.contains(id)) {
            return remembered.withoutConditions();
        }
        return ending.contains(id) ? remembered.ending() : remembered;
    }

    private ImmutableMap<WorkloadId, Remembered> leftOver(DesiredState now) {
        return store.instances().stream()
                .map(Instance::workload)
                .distinct()
                .filter(id -> now.get(id).isEmpty())
                .collect(ImmutableMap.toImmutableMap(id -> id, this::look));
    }
}
