package io.homeostat.reconcile.sim;

import io.homeostat.desired.model.WorkloadId;
import io.homeostat.reconcile.loop.PassListener;
import io.homeostat.reconcile.loop.PassResult;
import io.homeostat.reconcile.plan.Step;

/** For examples that ask the store what happened. */
final class Silence implements PassListener {
    @Override
    public void starting(Step step) {
        // The store tells.
    }

    @Override
    public void finished(WorkloadId id, PassResult next) {
        // The store tells.
    }

    @Override
    public void broken(WorkloadId id, Throwable problem) {
        throw new AssertionError(problem);
    }
}
