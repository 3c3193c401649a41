package io.homeostat.reconcile.loop;

import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.Sets;
import io.homeostat.desired.model.DesiredState;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.StateReader;
import io.homeostat.observe.host.HostFacts;
import io.homeostat.reconcile.plan.DependencyGraph;
import io.homeostat.reconcile.plan.Relations;
import io.homeostat.reconcile.plan.Remembered;
import java.util.HashSet;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** How workloads stand to each other, for all passes: who is concerned by whom, and who is being changed now. */
final class DisruptionBudget {
    private final DesiredSource desired;
    private final StateReader store;
    private final Map<WorkloadId, Standing> standings = new ConcurrentHashMap<>();
    /** Those that were stopped to be changed, until they are well again. Guarded by itself. */
    private final Set<WorkloadId> disrupted = new HashSet<>();

    /** Those that were told to stop since they were looked at: what was written down before says nothing of how they are now. */
    private final Set<WorkloadId> stopped = ConcurrentHashMap.newKeySet();

    /** By the newest look at the machine; null before the first one. */
    private volatile @Nullable HostFacts lastSeen;

    private volatile DependencyGraph dependencies = new DependencyGraph(DesiredState.EMPTY, ImmutableMap::of);

    /**
     * All that others may care about.
     *
     * @param formerly what it depended on, when nobody wants it any more
     */
    private record Standing(boolean well, boolean alive, boolean wanted, ImmutableSet<WorkloadId> formerly) {
        static final Standing UNKNOWN = new Standing(false, false, false, ImmutableSet.of());
    }

    DisruptionBudget(DesiredSource desired, StateReader store) {
        this.desired = desired;
        this.store = store;
    }

    private DependencyGraph dependencies() {
        DesiredState now = desired.now();
        DependencyGraph known = dependencies;
        if (!known.isOf(now)) {
            known = new DependencyGraph(now, () -> leftOver(now));
            dependencies = known;
        }
        return known;
    }

    /** How those fare that matter to a workload. */
    Relations of(WorkloadId id, HostFacts host) {
        lastSeen = host;
        Set<WorkloadId> changing;
        synchronized (disrupted) {
            changing = ImmutableSet.copyOf(disrupted);
        }
        return dependencies().of(id, host, this::look, changing::contains);
    }

    /**
     * Takes a place among those that may be down for a change. Of several that ask at once the last places go to one after the other.
     *
     * @return false when there is none; it is kept until the workload is well again
     */
    boolean takePlace(WorkloadId id, HostFacts host, int places) {
        synchronized (disrupted) {
            if (dependencies()
                            .of(id, host, this::look, disrupted::contains)
                            .down()
                            .size()
                    >= places) {
                return false;
            }
            disrupted.add(id);
            return true;
        }
    }

    /** To be called before a workload is stopped: who depends on it must not be launched meanwhile, nor when the outcome gets lost. */
    void stopping(WorkloadId id) {
        stopped.add(id);
    }

    /** To be called once it is written down how a workload was found. */
    void looked(WorkloadId id) {
        stopped.remove(id);
    }

    /**
     * To be called when a pass is over.
     *
     * @return whom it may concern what has become of the workload since the pass before
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
        // Once it is stopped, only what was known of it before says on whom it depended.
        return standing.wanted()
                ? now.concernedBy(id)
                : Sets.union(
                                standing.formerly(),
                                Objects.requireNonNullElse(before, Standing.UNKNOWN)
                                        .formerly())
                        .immutableCopy();
    }

    private Remembered look(WorkloadId id) {
        Remembered remembered = Remembered.by(store, id);
        return stopped.contains(id) ? remembered.withoutConditions() : remembered;
    }

    private ImmutableMap<WorkloadId, Remembered> leftOver(DesiredState now) {
        return store.instances().stream()
                .map(Instance::workload)
                .distinct()
                .filter(id -> now.get(id).isEmpty())
                .collect(ImmutableMap.toImmutableMap(id -> id, this::look));
    }
}
