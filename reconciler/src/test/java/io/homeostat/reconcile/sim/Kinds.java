package io.homeostat.reconcile.sim;

import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Instance;
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
        return !id.kind().equals(TimerKind.TIMER) && !isTask(id);
    }

    static boolean isTask(WorkloadId id) {
        return id.kind().equals(Kind.TASK);
    }

    static boolean isTask(Instance instance) {
        return isTask(instance.workload());
    }
}
