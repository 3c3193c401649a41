package io.homeostat.desired.state;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.Sets;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.StateStore.ToApply;
import io.homeostat.desired.state.history.WorkloadHistory;

/**
 * What one message of the control plane changes; stored as a whole or not at all.
 *
 * @param messageId as the control plane gave it; a message that was stored before changes nothing
 * @param declared what {@link SourceName#CONTROL_PLANE} declares from now on, each workload at most once
 * @param withdrawn what it declares no longer; none of them is declared
 * @param histories of workloads of which something else has to be remembered than before
 * @param events what happened, oldest first
 * @param withheld how many refused items no event tells of, because there were too many
 */
public record ControlPlaneChange(
        String messageId,
        ImmutableList<ToApply> declared,
        ImmutableSet<WorkloadId> withdrawn,
        ImmutableMap<WorkloadId, WorkloadHistory> histories,
        ImmutableList<Event> events,
        int withheld) {

    /** One all of which is told. */
    public ControlPlaneChange(
            String messageId,
            ImmutableList<ToApply> declared,
            ImmutableSet<WorkloadId> withdrawn,
            ImmutableMap<WorkloadId, WorkloadHistory> histories,
            ImmutableList<Event> events) {
        this(messageId, declared, withdrawn, histories, events, 0);
    }

    public ControlPlaneChange {
        ImmutableSet<WorkloadId> ids =
                declared.stream().map(one -> one.workload().id()).collect(ImmutableSet.toImmutableSet());
        if (ids.size() != declared.size() || !Sets.intersection(ids, withdrawn).isEmpty()) {
            throw new IllegalArgumentException("a workload is declared twice, or withdrawn as well: " + ids);
        }
    }
}
