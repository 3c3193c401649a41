package io.homeostat.observe.usage;

import com.google.common.collect.ImmutableListMultimap;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.Maps;
import com.google.common.collect.Multimaps;
import io.homeostat.desired.model.WorkloadId;
import java.util.Set;

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

    /** What of it is about these workloads. */
    public UsageReport about(Set<WorkloadId> ids) {
        return new UsageReport(
                ImmutableListMultimap.copyOf(Multimaps.filterKeys(samples, ids::contains)),
                ImmutableMap.copyOf(Maps.filterKeys(last, ids::contains)));
    }
}
