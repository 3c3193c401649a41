package io.homeostat.observe.usage;

import com.google.common.collect.ImmutableListMultimap;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.Maps;
import com.google.common.collect.Multimaps;
import io.homeostat.desired.model.WorkloadId;
import java.time.Instant;
import java.util.Set;

/**
 * All samples that have not been delivered for certain. Whoever delivers a report says so afterwards; what a lost report had is in the
 * next one again.
 *
 * @param samples by workload, oldest first
 * @param last number of each workload's newest sample in this report; samples are numbered in the order in which they were taken, across
 *     all workloads, and no number is used twice
 */
public record UsageReport(ImmutableListMultimap<WorkloadId, Usage> samples, ImmutableMap<WorkloadId, Long> last) {
    /** An empty report. */
    public static final UsageReport EMPTY = new UsageReport(ImmutableListMultimap.of(), ImmutableMap.of());

    /** The part of it about these workloads. */
    public UsageReport about(Set<WorkloadId> ids) {
        return new UsageReport(
                ImmutableListMultimap.copyOf(Multimaps.filterKeys(samples, ids::contains)),
                ImmutableMap.copyOf(Maps.filterKeys(last, ids::contains)));
    }

    /**
     * What the whole process tree of a workload used.
     *
     * @param at end of the interval
     * @param cpuPercent of one core, over the interval that ended then; above 100 on several cores, never negative
     * @param memoryBytes at the end of the interval
     */
    public record Usage(Instant at, double cpuPercent, long memoryBytes) {}
}
