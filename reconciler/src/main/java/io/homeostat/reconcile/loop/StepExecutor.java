package io.homeostat.reconcile.loop;

import io.homeostat.observe.ObservedWorkload;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.record.Outcome;

/** Does one step to the machine. */
public interface StepExecutor {
    /**
     * Executes a step to its end, whatever that is; never throws for what the machine is like.
     *
     * @param step anything but a wait
     * @param seen the observation that the step was planned from
     */
    Outcome execute(Step step, ObservedWorkload seen);
}
