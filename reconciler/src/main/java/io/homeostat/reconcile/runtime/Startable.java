package io.homeostat.reconcile.runtime;

import io.homeostat.desired.state.Instance;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.record.Outcome;

/** A kind whose instances are told to start after they were created. */
public interface Startable {
    /** Tells an instance to start; called at most once for each. */
    Outcome start(Step.Start step, Instance instance) throws InterruptedException;
}
