package io.homeostat.reconcile.plan;

import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadSpec;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.desired.state.history.WorkloadHistory.FailedRevision;
import io.homeostat.desired.state.history.WorkloadHistory.LastKnownGood;
import io.homeostat.observe.Observer.Checks;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** By whose probe and health policy a process is judged: by those of the declaration that it runs. */
public final class Judgement {
    private Judgement() {}

    /** By which declaration a process is judged: by the one it runs, be it the wanted one or the last good one. */
    public static Checks checks(@Nullable Declaration declared, WorkloadHistory history) {
        return declared == null
                ? Checks.NONE
                : instance -> isAsked(declared, instance) ? of(declared, history, instance) : null;
    }

    /** How a one-shot fares shows in how it ends, unless it says itself when it is done. */
    private static boolean isAsked(Declaration declared, Instance instance) {
        return !Work.isOneShot(instance) || Traits.of(declared.workload()).completion() == Traits.Completion.STATUS;
    }

    static WorkloadSpec of(Declaration declared, WorkloadHistory history, Instance instance) {
        LastKnownGood lastKnownGood = history.lastKnownGood();
        if (lastKnownGood != null
                && LaunchInputs.matches(instance, lastKnownGood.workload())
                && (!LaunchInputs.matches(instance, declared.workload()) || broughtBack(declared, history, instance))) {
            return lastKnownGood.workload().spec();
        }
        return declared.workload().spec();
    }

    /**
     * Whether a process was launched to undo a declaration that launches just the same and asks otherwise for its health. What one
     * probe says of it is no news for the other, so trying that declaration once more takes another launch.
     */
    public static boolean broughtBack(Declaration declared, WorkloadHistory history, Instance instance) {
        LastKnownGood lastKnownGood = history.lastKnownGood();
        FailedRevision failed = history.failed();
        return lastKnownGood != null
                && failed != null
                && failed.hash().equals(declared.hash())
                && instance.target().equals(lastKnownGood.hash())
                && asksOtherwise(lastKnownGood.workload(), declared.workload());
    }

    private static boolean asksOtherwise(Workload one, Workload other) {
        boolean samePolicy = one.lifecycle().health().equals(other.lifecycle().health());
        boolean sameProbe = Objects.equals(one.spec().probe(), other.spec().probe());
        return !samePolicy || !sameProbe;
    }
}
