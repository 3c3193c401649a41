package io.homeostat.observe;

import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.observe.host.HostFacts;

/**
 * What is true of this machine now.
 *
 * @param workloads every workload of which there is a trace, and every one that was asked for
 * @param archives keys of the complete archives in the cache
 * @param host facts that all workloads share
 */
public record ActualState(
        ImmutableSortedMap<WorkloadId, ObservedWorkload> workloads, ImmutableSet<String> archives, HostFacts host) {
    public ObservedWorkload get(WorkloadId id) {
        ObservedWorkload seen = workloads.get(id);
        return seen == null ? ObservedWorkload.absent(id) : seen;
    }
}
