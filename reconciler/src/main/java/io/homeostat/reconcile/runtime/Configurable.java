package io.homeostat.reconcile.runtime;

import io.homeostat.desired.state.Instance;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.record.Outcome;

/** A kind whose instances can be given another configuration while they run. */
public interface Configurable {
    Outcome configure(Step.ApplyConfig step, Instance instance) throws InterruptedException;
}
