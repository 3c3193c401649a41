package io.homeostat.reconcile.sim;

import io.homeostat.desired.model.WorkloadId;
import io.homeostat.observe.ObservedWorkload;
import io.homeostat.observe.Observer;
import io.homeostat.reconcile.loop.StepExecutor;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.record.Outcome;
import java.util.function.UnaryOperator;

/**
 * How the agent under test differs from the real one: not at all, but where a test plants a bug.
 *
 * @param eyes between the fake observer and the agent
 * @param hands between the agent and the fake executor
 */
record Agent(UnaryOperator<Observer> eyes, UnaryOperator<StepExecutor> hands) {
    static final Agent REAL = new Agent(UnaryOperator.identity(), UnaryOperator.identity());

    static Agent withHands(UnaryOperator<StepExecutor> hands) {
        return new Agent(UnaryOperator.identity(), real -> {
            StepExecutor other = hands.apply(real);
            return new StepExecutor() {
                @Override
                public Outcome execute(Step step, ObservedWorkload seen) {
                    return other.execute(step, seen);
                }

                @Override
                public void destroyEnded(WorkloadId id) {
                    real.destroyEnded(id);
                }
            };
        });
    }
}
