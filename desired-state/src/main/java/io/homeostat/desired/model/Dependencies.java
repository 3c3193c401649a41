package io.homeostat.desired.model;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.Streams;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Who has to run before whom. */
public final class Dependencies {
    /** How many are named at each end of a long cycle: who has to look through it needs no list of thousands. */
    private static final int NAMED = 5;

    private Dependencies() {}

    /** What a workload says it depends on. */
    public static ImmutableSet<WorkloadId> of(Workload workload) {
        return workload.lifecycle().dependsOn().stream()
                .map(text ->
                        WorkloadId.parse(text).orElseThrow(() -> new IllegalStateException("not a workload: " + text)))
                .collect(ImmutableSet.toImmutableSet());
    }

    /**
     * {@code a -> b -> a}; of a long cycle its beginning and its end.
     *
     * @param id a workload in it, with which it begins, or from which there is a way to it
     */
    public static String words(WorkloadId id, ImmutableList<WorkloadId> cycle) {
        Stream<String> to = id.equals(cycle.getFirst()) ? Stream.empty() : Stream.of(id.toString(), "...");
        return Streams.concat(to, shown(cycle), Stream.of(cycle.getFirst().toString()))
                .collect(Collectors.joining(" -> "));
    }

    private static Stream<String> shown(ImmutableList<WorkloadId> cycle) {
        int left = cycle.size() - 2 * NAMED;
        return left <= 1
                ? cycle.stream().map(WorkloadId::toString)
                : Streams.concat(
                        cycle.subList(0, NAMED).stream().map(WorkloadId::toString),
                        Stream.of("... " + left + " more ..."),
                        cycle.subList(cycle.size() - NAMED, cycle.size()).stream()
                                .map(WorkloadId::toString));
    }
}
