package io.homeostat.reconcile.plan;

import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Instance;
import io.homeostat.observe.Observation;
import io.homeostat.observe.host.HostFacts;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Function;
import java.util.function.Predicate;

/**
 * What is remembered of all workloads at one moment. It is read once for each, and what follows from it is computed once: whoever decides
 * about many workloads at that moment gives all decisions the same one. For use by several threads.
 */
public final class Neighbours {
    private final Function<WorkloadId, Remembered> memory;
    private final Predicate<Instance> gone;
    private final Predicate<WorkloadId> changing;
    private final Predicate<WorkloadId> unseen;
    private final Map<WorkloadId, Remembered> remembered = Collections.synchronizedMap(new HashMap<>());
    private final Map<Of, Prospects> stored = Collections.synchronizedMap(new HashMap<>());
    private final Map<Of, Prospects> now = Collections.synchronizedMap(new HashMap<>());

    /** All of the host that prospects depend on. */
    private record Of(DependencyGraph graph, Observation<String> bootId) {}

    /**
     * @param memory what is remembered of a workload; asked once for each, and again when {@code gone} says no
     * @param gone whether an instance is known not to run any more, though nobody has looked at its workload since; asked for what
     *     workloads wait for
     * @param changing those that were stopped for a change and are not well again
     * @param unseen those that could not be looked at for so long that nobody waits for their end any more
     */
    public Neighbours(
            Function<WorkloadId, Remembered> memory,
            Predicate<Instance> gone,
            Predicate<WorkloadId> changing,
            Predicate<WorkloadId> unseen) {
        this.memory = memory;
        this.gone = gone;
        this.changing = changing;
        this.unseen = unseen;
    }

    Remembered remembered(WorkloadId id) {
        return remembered.computeIfAbsent(id, memory);
    }

    boolean isUnseen(WorkloadId id) {
        return unseen.test(id);
    }

    /** How workloads fare as they were seen the last time. */
    Prospects asStored(DependencyGraph graph, HostFacts host) {
        return stored.computeIfAbsent(
                new Of(graph, host.bootId()), of -> new Prospects(graph, host, this::remembered, changing));
    }

    /** The same, but of those whose instances are gone since. */
    Prospects now(DependencyGraph graph, HostFacts host) {
        return now.computeIfAbsent(
                new Of(graph, host.bootId()),
                of -> new Prospects(
                        graph, host, id -> remembered(id).unlessGone(gone, () -> memory.apply(id)), changing));
    }
}
