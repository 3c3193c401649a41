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
 * Serializes access to the process of a workload, between the steps of passes and commands that talk to it. Workloads do not wait for
 * each other.
 */
public final class Turns {
    private final ConcurrentMap<WorkloadId, ReentrantLock> taken = new ConcurrentHashMap<>();

    /** What is done in a turn. */
    @FunctionalInterface
    public interface Work<T> {
        T run() throws InterruptedException;
    }

    /**
     * Runs {@code work} while nobody else has the turn of this workload.
     *
     * @param patience how long to wait for whoever has the turn
     * @return empty if the turn did not come in time; the work was not done
     */
    public <T> Optional<T> within(WorkloadId id, Duration patience, Work<T> work) throws InterruptedException {
        while (true) {
            ReentrantLock lock = taken.computeIfAbsent(id, same -> new ReentrantLock(true));
            if (!lock.tryLock(patience.toNanos(), TimeUnit.NANOSECONDS)) {
                return Optional.empty();
            }
            try {
                // One that was released meanwhile may have been removed, and another be in its place.
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

    /** Executes steps that touch a process in its turn, so that nobody talks to a plugin that is being started or stopped. */
    public static final class TurnTaking implements StepExecutor {
        /** Calls to plugins have deadlines of seconds. After this long the step is given up and planned again, and what ended
         * instances left stays until the next pass. */
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

        @Override
        public void clearSight(WorkloadId id) {
            executor.clearSight(id);
        }

        @Override
        public void destroyEnded(WorkloadId id) {
            try {
                turns.within(id, PATIENCE, () -> {
                    executor.destroyEnded(id);
                    return true;
                });
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }

        private static boolean concernsProcess(Step step) {
            return switch (step) {
                case Step.Launch s -> true;
                case Step.Start s -> true;
                case Step.ApplyConfig s -> true;
                case Step.Reload s -> true;
                case Step.Stop s -> true;
                case Step.Remove s -> true;
                case Step.Download s -> false;
                case Step.Unpack s -> false;
                case Step.Activate s -> false;
                case Step.SetLimits s -> false;
                case Step.Reboot s -> false;
                case Step.CollectGarbage s -> false;
                case Step.Wait s -> false;
            };
        }
    }
}
