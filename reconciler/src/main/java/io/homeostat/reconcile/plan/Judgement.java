package io.homeostat.reconcile.plan;

import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadSpec;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.desired.state.history.WorkloadHistory.FailedRevision;
import io.homeostat.desired.state.history.WorkloadHistory.LastKnownGood;
import io.homeostat.observe.Observer.Checks;
import java.time.Instant;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** By whose probe and health policy an instance is judged: by those of the declaration that it runs. */
public final class Judgement {
    private Judgement() {}

    /** By which declaration an instance is judged: by the one it runs, be it the wanted one or the last good one. */
    public static Checks checks(@Nullable Declaration declared, WorkloadHistory history, Instant now) {
        return declared == null
                ? Checks.NONE
                : instance -> isAsked(declared, instance) ? of(declared, history, instance, now) : null;
    }

    /** How a one-shot fares shows in how it ends, unless it says itself when it is done. */
    private static boolean isAsked(Declaration declared, Instance instance) {
        return !Work.isOneShot(instance) || Traits.of(declared.workload()).completion() == Traits.Completion.STATUS;
    }

    private static WorkloadSpec of(Declaration declared, WorkloadHistory history, Instance instance, Instant now) {
        LastKnownGood good = history.lastKnownGood();
        Optional<FailedRevision> undone = history.undone(declared.hash());
        if (good != null
                && undone.filter(one -> isWantedBack(one, good, instance)).isPresent()) {
            return good.workload().spec();
        }
        LastKnownGood meanwhile = undone.map(FailedRevision::meanwhile)
                .filter(runs -> instance.target().equals(runs.hash()))
                .orElse(null);
        if (meanwhile != null) {
            return meanwhile.workload().spec();
        }
        boolean runsGood = good != null
                && LaunchInputs.matches(instance, good.workload())
                && (!LaunchInputs.matches(instance, declared.workload())
                        || wasBroughtBack(declared, history, instance)
                        || awaitsWindow(declared, history, instance, now));
        return (good != null && runsGood ? good.workload() : declared.workload()).spec();
    }

    /**
     * Whether somebody wants an instance to run as the last good revision, for whatever it was launched: what differs between the two may
     * be changed in place. Another archive of that revision, which may have to be fetched first, is in another directory.
     */
    private static boolean isWantedBack(FailedRevision undone, LastKnownGood good, Instance instance) {
        return undone.byRequest()
                && LaunchInputs.matches(instance, good.workload())
                && (undone.meanwhile() == null || Objects.equals(instance.directory(), good.directory()));
    }

    /**
     * Whether an instance was launched to undo a declaration that launches just the same and asks otherwise for its health. What one
     * probe says of it is no news for the other, so trying that declaration once more takes another launch.
     */
    static boolean wasBroughtBack(Declaration declared, WorkloadHistory history, Instance instance) {
        return history.undone(declared.hash()).isPresent() && asksOtherwise(declared, history, instance);
    }

    /** Outside its maintenance window nothing changes for what runs, and so neither does its probe. */
    private static boolean awaitsWindow(Declaration declared, WorkloadHistory history, Instance instance, Instant now) {
        return asksOtherwise(declared, history, instance)
                && Preconditions.windowOpens(declared, history, now).isPresent();
    }

    /** Whether an instance was launched as the last good revision, and that asks otherwise for its health than what is declared. */
    private static boolean asksOtherwise(Declaration declared, WorkloadHistory history, Instance instance) {
        LastKnownGood lastKnownGood = history.lastKnownGood();
        if (lastKnownGood == null || !instance.target().equals(lastKnownGood.hash())) {
            return false;
        }
        Workload good = lastKnownGood.workload();
        Workload wanted = declared.workload();
        return !good.lifecycle().health().equals(wanted.lifecycle().health())
                || !Objects.equals(good.spec().probe(), wanted.spec().probe());
    }
}
