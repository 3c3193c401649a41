package io.homeostat.reconcile.agent;

import io.homeostat.desired.model.WorkloadId;
import io.homeostat.reconcile.loop.PassId;
import io.homeostat.reconcile.loop.PassListener;
import io.homeostat.reconcile.plan.KindTraits;
import io.homeostat.reconcile.plan.Step;

/** Has the kernel get ready for a launch while a pass that may lead to one looks and plans. */
final class MovesAhead implements PassListener {
    private final Runnable gracePeriod;

    /** @param gracePeriod begins one; see {@link io.homeostat.actuate.limits.GracePeriod} */
    MovesAhead(Runnable gracePeriod) {
        this.gracePeriod = gracePeriod;
    }

    @Override
    public void begun(PassId pass) {
        switch (pass.trigger()) {
            case EXIT, FILES, REQUEST, RETRY, NEIGHBOUR -> begin(pass.workload());
            // In those that follow it is under way or over, and most of the others find all as it was.
            case STEP, WAIT, START, RESYNC -> {}
        }
    }

    /** The one that began with the first pass is long over when something had to be downloaded; a launch follows this step. */
    @Override
    public void starting(Step step) {
        if (step instanceof Step.Activate) {
            begin(step.workload());
        }
    }

    /** What its launch does not move is moved later; until then we make and remove groups, which would wait for this. */
    private void begin(WorkloadId id) {
        if (KindTraits.of(id.kind()).isMovedByLaunch()) {
            gracePeriod.run();
        }
    }
}
