package io.homeostat.reconcile.fleet;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.fleet.MachineReport.ReportedWorkload;
import io.homeostat.desired.fleet.Rollout;
import io.homeostat.desired.fleet.RolloutOrder;
import io.homeostat.desired.fleet.RolloutState;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * All that the next decision about a rollout depends on, as of one revision of the store.
 *
 * @param state the last decision; null before the first
 * @param stateRevision when that was written, in the store; 0 before the first
 * @param order the one that stands; null without one
 * @param members the machines that its workloads are for, in the order of their places
 */
public record RolloutSituation(
        Rollout rollout,
        @Nullable RolloutState state,
        long stateRevision,
        @Nullable GivenOrder order,
        ImmutableList<Member> members,
        long revision,
        Instant now) {

    /** Whether the last decision is about this rollout, and not about another one of its name. */
    public boolean hasBegun() {
        return state != null && state.digest().equals(rollout.digest());
    }

    /** Whether the order is for the rollout as it is published, and was not followed before. */
    public boolean hasNewOrder() {
        return order != null
                && order.order().digest().equals(rollout.digest())
                && (state == null || order.revision() != state.order());
    }

    /** An order, and the store's revision that tells it from the one before. */
    public record GivenOrder(RolloutOrder order, long revision) {}

    /**
     * A machine that the rollout is for.
     *
     * @param place see {@link Rollout#place}
     * @param registeredAt the store's revision in which it was, with the labels by which it is one
     * @param workloads what it reports; null while it is silent
     */
    public record Member(
            String id,
            String place,
            long registeredAt,
            @Nullable ImmutableList<ReportedWorkload> workloads) {}
}
