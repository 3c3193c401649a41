package io.homeostat.reconcile.loop;

import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.plan.WorkloadPlan;
import io.homeostat.reconcile.record.Outcome;

/** How a pass ended, which decides when the next one is due. */
public sealed interface PassResult {

    WorkloadPlan plan();

    /** A step was done: look again at once. */
    record Again(WorkloadPlan plan, Step step, Outcome outcome) implements PassResult {}

    /** A step goes on beside passes, and another pass follows when it is over, or before that if there is a reason. */
    record UnderWay(WorkloadPlan plan, Step step) implements PassResult {}

    /** Nothing can be done before the time that the plan names. */
    record Later(WorkloadPlan plan, Step.Wait until) implements PassResult {}

    /** Nothing is left to do. */
    record Settled(WorkloadPlan plan) implements PassResult {}
}
