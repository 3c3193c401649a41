package io.homeostat.observe.usage;

import com.google.common.collect.ImmutableListMultimap;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.Maps;
import com.google.common.collect.Multimaps;
import io.homeostat.desired.model.WorkloadId;
import java.time.Instant;
import java.util.Set;

/**
 * All samples that have not been delivered for certain, by workload, oldest first. Whoever delivers a report says so afterwards; a lost
 * report's samples are in the next one again.
 *
 * @param last number of each workload's newest sample; numbers are never used twice
 */
public record UsageReport(ImmutableListMultimap<WorkloadId, Usage> samples, ImmutableMap<WorkloadId, Long> last) {
    public static final UsageReport EMPTY = new UsageReport(ImmutableListMultimap.of(), ImmutableMap.of());

    /** The part of it about these workloads. */
    public UsageReport about(Set<WorkloadId> ids) {
        return new UsageReport(
                ImmutableListMultimap.copyOf(Multimaps.filterKeys(samples, ids::contains)),
                ImmutableMap.copyOf(Maps.filterKeys(last, ids::contains)));
    }

    /**
     * What a workload's whole process tree used.
     *
     * @param at end of the interval
     * @param cpuPercent of one core, over the interval; above 100 on several cores, never negative
     * @param memoryBytes at the end of the interval
     */
    public record Usage(Instant at, double cpuPercent, long memoryBytes) {}
}
