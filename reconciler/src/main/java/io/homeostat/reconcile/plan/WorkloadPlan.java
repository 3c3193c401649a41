package io.homeostat.reconcile.plan;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.history.Reason;
import java.time.Instant;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * What to do about one workload, why, and in which steps. No steps: nothing is left to do.
 *
 * @param message for people; no secrets in it
 * @param before what runs or is installed; null when nothing is
 * @param after what will be there; null when nothing will
 * @param due when nothing is to be done now: the time at which something will be, though nothing changes; null when there is none
 */
public record WorkloadPlan(
        WorkloadId workload,
        Action action,
        Reason reason,
        String message,
        ImmutableList<Step> steps,
        @Nullable Facts before,
        @Nullable Facts after,
        @Nullable Instant due) {

    /** One with nothing to do later, as long as nothing changes. */
    public WorkloadPlan(
            WorkloadId workload,
            Action action,
            Reason reason,
            String message,
            ImmutableList<Step> steps,
            @Nullable Facts before,
            @Nullable Facts after) {
        this(workload, action, reason, message, steps, before, after, null);
    }

    /** What is shown of a workload before and after. */
    public record Facts(String revision) {}

    /** The groups that a plan's summary counts. */
    public enum Bucket {
        INSTALL,
        UPDATE,
        REPAIR,
        REMOVE,
        WAITING,
        UNCHANGED
    }

    /** Whether nothing is to be done because it is not to run here, rather than because it does as declared. */
    public boolean isDisabledAtRest() {
        return action == Action.NONE && reason == Reason.DISABLED;
    }

    /** The first thing to do; everything after it is a forecast. */
    public Optional<Step> next() {
        return steps.isEmpty() ? Optional.empty() : Optional.of(steps.get(0));
    }

    /** The same with the forecast of another one. */
    WorkloadPlan followedBy(WorkloadPlan other) {
        ImmutableList<Step> all =
                ImmutableList.<Step>builder().addAll(steps).addAll(other.steps).build();
        return new WorkloadPlan(
                workload, action, reason, message + "; then " + other.message, all, before, other.after, due);
    }

    /** The group this plan counts to. */
    public Bucket bucket() {
        return switch (action) {
            case NONE -> Bucket.UNCHANGED;
            case WAIT -> Bucket.WAITING;
            case REMOVE -> Bucket.REMOVE;
            case INSTALL, UPGRADE, ROLLBACK, REINSTALL, CONFIGURE, RESTART, ACTIVATE, STOP, RUN, CLEANUP -> {
                if (reason.isDrift()) {
                    yield Bucket.REPAIR;
                }
                yield action == Action.INSTALL ? Bucket.INSTALL : Bucket.UPDATE;
            }
        };
    }
}
