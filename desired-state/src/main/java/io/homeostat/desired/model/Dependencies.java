package io.homeostat.desired.model;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Function;

/** Who has to run before whom. */
public final class Dependencies {
    private Dependencies() {}

    /** What a workload says it depends on. */
    public static ImmutableSet<WorkloadId> of(Workload workload) {
        return workload.lifecycle().dependsOn().stream()
                .map(text ->
                        WorkloadId.parse(text).orElseThrow(() -> new IllegalStateException("not a workload: " + text)))
                .collect(ImmutableSet.toImmutableSet());
    }

    /** A shortest cycle of dependencies through a workload, beginning with it; empty when there is none. */
    public static ImmutableList<WorkloadId> cycle(
            WorkloadId start, Function<WorkloadId, ? extends Iterable<WorkloadId>> dependencies) {
        Map<WorkloadId, WorkloadId> from = new HashMap<>();
        Deque<WorkloadId> open = new ArrayDeque<>();
        open.add(start);
        while (!open.isEmpty()) {
            WorkloadId id = open.remove();
            for (WorkloadId next : dependencies.apply(id)) {
                if (next.equals(start)) {
                    return way(start, id, from);
                }
                if (from.putIfAbsent(next, id) == null) {
                    open.add(next);
                }
            }
        }
        return ImmutableList.of();
    }

    private static ImmutableList<WorkloadId> way(WorkloadId start, WorkloadId end, Map<WorkloadId, WorkloadId> from) {
        ArrayDeque<WorkloadId> way = new ArrayDeque<>();
        for (WorkloadId id = end; id != null && !id.equals(start); id = from.get(id)) {
            way.addFirst(id);
        }
        way.addFirst(start);
        return ImmutableList.copyOf(way);
    }

    /** {@code a -> b -> a}. */
    public static String words(ImmutableList<WorkloadId> cycle) {
        StringBuilder words = new StringBuilder();
        cycle.forEach(id -> words.append(id).append(" -> "));
        return words.append(cycle.getFirst()).toString();
    }
}
