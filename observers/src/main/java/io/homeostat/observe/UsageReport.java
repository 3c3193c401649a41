package io.homeostat.observe;

import com.google.common.collect.ImmutableListMultimap;
import com.google.common.collect.ImmutableMap;
import io.homeostat.desired.model.WorkloadId;

/**
 * All samples that nobody has been told of for sure. Whoever delivers one says so afterwards; a report that got lost is in the next
 * one again.
 *
 * @param samples by workload, oldest first
 * @param last number of each workload's newest sample in here; samples are numbered in the order in which they were taken, over
 *     all workloads, and no number is given twice
 */
public record UsageReport(ImmutableListMultimap<WorkloadId, Usage> samples, ImmutableMap<WorkloadId, Long> last) {
    /** Where nothing is sampled. */
    public static final UsageReport EMPTY = new UsageReport(ImmutableListMultimap.of(), ImmutableMap.of());
}
