package io.homeostat.reconcile.sim;

import io.homeostat.observe.Observer;
import io.homeostat.reconcile.loop.StepExecutor;
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
        return new Agent(UnaryOperator.identity(), hands);
    }
}
