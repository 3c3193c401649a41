package io.homeostat.reconcile.loop;

import io.homeostat.observe.ObservedWorkload;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.record.Outcome;

/** Executes steps on the machine. */
public interface StepExecutor {
    /**
     * Executes a step. Failures are returned, not thrown.
     *
     * @param step anything but a wait
     * @param seen the observation that the step was planned from
     */
    Outcome execute(Step step, ObservedWorkload seen);
}
