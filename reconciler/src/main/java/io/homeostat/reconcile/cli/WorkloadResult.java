package io.homeostat.reconcile.cli;

import io.homeostat.desired.model.WorkloadId;
import io.homeostat.reconcile.plan.WorkloadPlan;
import io.homeostat.reconcile.plan.WorkloadPlan.Bucket;
import io.homeostat.reconcile.plan.WorkloadPlan.Facts;
import java.util.Locale;

/**
 * What became of a workload.
 *
 * @param plan what was to be done about it; for a failure, what was left to do at the end
 * @param why why it failed; empty when it did not
 */
record WorkloadResult(WorkloadId workload, Kind kind, WorkloadPlan plan, String why) {
    /** The four ends. */
    enum Kind {
        CONVERGED,
        UNCHANGED,
        REMOVED,
        FAILED;

        String word() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    /** The group of the summary that it counts to, if it did not fail. */
    Bucket bucket() {
        return switch (kind) {
            case UNCHANGED -> Bucket.UNCHANGED;
            case REMOVED -> Bucket.REMOVE;
            case CONVERGED, FAILED ->
                plan.bucket() == Bucket.REPAIR || plan.bucket() == Bucket.INSTALL ? plan.bucket() : Bucket.UPDATE;
        };
    }

    /** For people: "upgraded A -> B", "failed: ...". */
    String words() {
        return kind == Kind.FAILED ? "failed: " + OneLine.of(why) : ActionWords.past(plan);
    }

    /** The revision that is there, or for a removal was; empty when none is known. */
    String revision() {
        Facts facts = kind == Kind.REMOVED ? plan.before() : plan.after();
        return facts == null ? "" : facts.revision();
    }
}
