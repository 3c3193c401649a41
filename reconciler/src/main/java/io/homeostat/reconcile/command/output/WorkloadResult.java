package io.homeostat.reconcile.command.output;

import io.homeostat.desired.model.WorkloadId;
import io.homeostat.reconcile.plan.WorkloadPlan;
import io.homeostat.reconcile.plan.WorkloadPlan.Bucket;
import io.homeostat.reconcile.plan.WorkloadPlan.Facts;
import java.util.Locale;

/**
 * What became of a workload.
 *
 * @param plan what was to be done about it; when that was not done, what was left to do at the end
 * @param why why it was not done; empty when it was
 */
public record WorkloadResult(WorkloadId workload, Kind kind, WorkloadPlan plan, String why) {
    /** The five ends. */
    enum Kind {
        CONVERGED,
        UNCHANGED,
        REMOVED,
        FAILED,
        /** Nothing is wrong with it, but it may not be changed before its maintenance window opens. */
        WAITING;

        String word() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    /** Whether it is not as declared. */
    public boolean isLeftUndone() {
        return kind == Kind.FAILED || kind == Kind.WAITING;
    }

    /** The group of the summary that it counts to, if it is as declared. */
    Bucket bucket() {
        return switch (kind) {
            case UNCHANGED -> Bucket.UNCHANGED;
            case REMOVED -> Bucket.REMOVE;
            case CONVERGED, FAILED, WAITING ->
                plan.bucket() == Bucket.REPAIR || plan.bucket() == Bucket.INSTALL ? plan.bucket() : Bucket.UPDATE;
        };
    }

    /** For people: "upgraded A -> B", "failed: ...", "waiting: ...". */
    String words() {
        return isLeftUndone() ? kind.word() + ": " + OneLine.of(why) : ActionWords.past(plan);
    }

    /** The revision that is there, or for a removal was; empty when none is known. */
    String revision() {
        Facts facts = kind == Kind.REMOVED ? plan.before() : plan.after();
        return facts == null ? "" : facts.revision();
    }
}
