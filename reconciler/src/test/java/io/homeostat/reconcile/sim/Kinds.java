package io.homeostat.reconcile.sim;

import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.PluginSpec;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.reconcile.plan.KindTraits;
import io.homeostat.reconcile.runtime.timer.TimerKind;

/** In what the kinds of workloads of a simulation differ. */
final class Kinds {
    private Kinds() {}

    /** Whether a process of it listens, and does nothing before it is told to start. */
    static boolean isToldToStart(WorkloadId id) {
        return KindTraits.of(id.kind()).isStartedExplicitly();
    }

    /** Whether something of an instance is left after its end until it is destroyed; its stop is not to be repeated then. */
    static boolean leavesRemains(WorkloadId id) {
        return KindTraits.of(id.kind()).leavesRemains();
    }

    static boolean hasArchive(WorkloadId id) {
        return !id.kind().equals(TimerKind.TIMER) && !isTask(id) && !isOfGuest(id);
    }

    static boolean isSandbox(WorkloadId id) {
        return id.kind().equals(Kind.SANDBOX);
    }

    static boolean isContainer(WorkloadId id) {
        return id.kind().equals(Kind.CONTAINER);
    }

    /** Whether it is in another machine, and all that is known of it is what that tells. */
    static boolean isOfGuest(WorkloadId id) {
        return isSandbox(id) || isContainer(id);
    }

    /** Whether somebody else runs it for us, so that its instance is no process. */
    static boolean isRunByOthers(WorkloadId id) {
        return isTask(id) || isOfGuest(id);
    }

    /** Whether it can be given something else while it runs, whatever that is. */
    static boolean isGivenAnew(Workload workload) {
        return workload.spec() instanceof PluginSpec || isOfGuest(workload.id());
    }

    static boolean isTask(WorkloadId id) {
        return id.kind().equals(Kind.TASK);
    }

    /** Whether others need it for as long as it is declared. */
    static boolean isNeverDone(WorkloadId id) {
        return id.kind().equals(Kind.DRIVER) || isSandbox(id);
    }
}
