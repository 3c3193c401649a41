package io.homeostat.reconcile.plan;

import com.google.common.collect.ImmutableMap;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Pause;
import io.homeostat.desired.state.history.WorkloadHistory;

/**
 * What can't be observed.
 *
 * @param pauses of the workloads that are to be left alone
 * @param seed from which the jitter of this machine's pauses grows
 */
public record History(
        ImmutableMap<WorkloadId, WorkloadHistory> workloads, ImmutableMap<WorkloadId, Pause> pauses, long seed) {
    public WorkloadHistory get(WorkloadId id) {
        return workloads.getOrDefault(id, WorkloadHistory.NONE);
    }
}
