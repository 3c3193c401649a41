package io.homeostat.reconcile.loop;

import io.homeostat.observe.ObservedWorkload;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.record.Outcome;
import java.time.Duration;

/** Does each step to a process in its turn, so that nobody speaks with a plugin that is being started or stopped. */
public final class TurnTaking implements StepExecutor {
    /** Who speaks with a plugin has deadlines of seconds. Whoever goes beyond this is not waited for; the step is planned again. */
    private static final Duration PATIENCE = Duration.ofMinutes(1);

    private final StepExecutor executor;
    private final Turns turns;

    public TurnTaking(StepExecutor executor, Turns turns) {
        this.executor = executor;
        this.turns = turns;
    }

    @Override
    public Outcome execute(Step step, ObservedWorkload seen) {
        if (!concernsProcess(step)) {
            return executor.execute(step, seen);
        }
        try {
            return turns.within(step.workload(), PATIENCE, () -> executor.execute(step, seen))
                    .orElseGet(Outcome.Interrupted::new);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return new Outcome.Interrupted();
        }
    }

    private static boolean concernsProcess(Step step) {
        return switch (step) {
            case Step.Launch s -> true;
            case Step.Start s -> true;
            case Step.ApplyConfig s -> true;
            case Step.Stop s -> true;
            case Step.Remove s -> true;
            case Step.Download s -> false;
            case Step.Unpack s -> false;
            case Step.Activate s -> false;
            case Step.SetLimits s -> false;
            case Step.CollectGarbage s -> false;
            case Step.Wait s -> false;
        };
    }
}
