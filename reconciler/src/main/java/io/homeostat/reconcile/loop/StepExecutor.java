package io.homeostat.reconcile.loop;

import io.homeostat.desired.model.WorkloadId;
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

    /**
     * Takes away what users have put between us and a workload that is to be looked at. What can't be taken away, the look tells. Does nothing
     * by default, for executors without a machine.
     */
    default void clearSight(WorkloadId id) {}

    /**
     * Removes what ended instances of a workload have left behind, and forgets those instances. What can't be removed now stays for the
     * next call. Does nothing by default, for executors of which no kind leaves anything.
     */
    default void destroyEnded(WorkloadId id) {}
}
