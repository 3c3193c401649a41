package io.homeostat.reconcile.loop;

import io.homeostat.desired.model.WorkloadId;
import io.homeostat.observe.ObservedWorkload;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.record.Outcome;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;

/**
 * One at a time deals with a workload's process: the steps of its passes, and whoever speaks with it beside them. Different workloads
 * have nothing to do with each other.
 */
public final class Turns {
    private final ConcurrentMap<WorkloadId, ReentrantLock> taken = new ConcurrentHashMap<>();

    /** What is done in a turn. */
    @FunctionalInterface
    public interface Work<T> {
        T run() throws InterruptedException;
    }

    /**
     * Does something to a workload while nobody else does.
     *
     * @param patience how long to wait for whoever has the turn
     * @return empty when they were not done by then, and nothing was done
     */
    public <T> Optional<T> within(WorkloadId id, Duration patience, Work<T> work) throws InterruptedException {
        while (true) {
            ReentrantLock lock = taken.computeIfAbsent(id, same -> new ReentrantLock(true));
            if (!lock.tryLock(patience.toNanos(), TimeUnit.NANOSECONDS)) {
                return Optional.empty();
            }
            try {
                // One that was given back in the meantime is nobody's, and another may be in its place.
                if (lock.equals(taken.get(id))) {
                    return Optional.of(work.run());
                }
            } finally {
                if (!lock.hasQueuedThreads()) {
                    taken.remove(id, lock);
                }
                lock.unlock();
            }
        }
    }

    /** Does each step to a process in its turn, so that nobody speaks with a plugin that is being started or stopped. */
    public static final class TurnTaking implements StepExecutor {
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
}
