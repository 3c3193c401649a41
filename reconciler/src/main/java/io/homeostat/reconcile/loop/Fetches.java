package io.homeostat.reconcile.loop;

import io.homeostat.desired.model.WorkloadId;
import io.homeostat.reconcile.plan.Situation;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.plan.WorkloadPlan;
import io.homeostat.reconcile.record.Outcome;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;
import org.slf4j.MDC;

/**
 * What is downloaded and unpacked beside the passes, at most one step per workload: that may take an hour, and what runs is to be looked
 * after meanwhile.
 */
final class Fetches implements AutoCloseable {
    private final StepExecutor steps;
    private final Executor threads;
    private final ConcurrentMap<WorkloadId, Fetch> underWay = new ConcurrentHashMap<>();

    /** @param threads where steps are executed */
    Fetches(StepExecutor steps, Executor threads) {
        this.steps = steps;
        this.threads = threads;
    }

    static boolean isFetch(Step step) {
        return step instanceof Step.Download || step instanceof Step.Unpack;
    }

    Optional<Fetch> of(WorkloadId id) {
        return Optional.ofNullable(underWay.get(id));
    }

    /** @param over called when it is, however it ends */
    Fetch begin(Situation situation, WorkloadPlan plan, Step step, Runnable over) {
        Fetch fetch = new Fetch(situation, plan, step);
        underWay.put(step.workload(), fetch);
        Map<String, String> marks = MDC.getCopyOfContextMap();
        threads.execute(() -> {
            if (marks != null) {
                MDC.setContextMap(marks);
            }
            fetch.run(steps);
            over.run();
        });
        return fetch;
    }

    /** Breaks it off if it is still under way, and waits until it is over; if it is needed after all, it is resumed. */
    void end(Fetch fetch) {
        fetch.end();
        underWay.remove(fetch.step.workload(), fetch);
    }

    /** Breaks all of them off. */
    @Override
    public void close() {
        underWay.values().forEach(this::end);
    }

    /** One step, and by which plan and in which situation it was begun. */
    static final class Fetch {
        private final Situation situation;
        private final WorkloadPlan plan;
        private final Step step;
        private final CompletableFuture<Outcome> outcome = new CompletableFuture<>();
        private @Nullable Thread thread;
        private boolean ended;

        private Fetch(Situation situation, WorkloadPlan plan, Step step) {
            this.situation = situation;
            this.plan = plan;
            this.step = step;
        }

        Situation situation() {
            return situation;
        }

        WorkloadPlan plan() {
            return plan;
        }

        Step step() {
            return step;
        }

        boolean isOver() {
            return outcome.isDone();
        }

        /** How it ended; throws what it has thrown. */
        Outcome outcome() {
            try {
                return outcome.join();
            } catch (CompletionException e) {
                if (e.getCause() instanceof Error error) {
                    throw error;
                }
                throw e.getCause() instanceof RuntimeException cause ? cause : e;
            }
        }

        /** Whether it may go on while that is done: repairs of what runs are no reason to begin again with a download. */
        boolean goesOnBeside(Step other) {
            return step instanceof Step.Download
                    && switch (other) {
                        case Step.Launch s -> true;
                        case Step.Start s -> true;
                        case Step.ApplyConfig s -> true;
                        case Step.Reload s -> true;
                        case Step.SetLimits s -> true;
                        case Step.Activate s -> true;
                        case Step.Stop s -> true;
                        case Step.Download s -> false;
                        case Step.Unpack s -> false;
                        case Step.Remove s -> false;
                        case Step.CollectGarbage s -> false;
                        case Step.Wait s -> false;
                    };
        }

        private void run(StepExecutor steps) {
            try {
                begin();
                outcome.complete(steps.execute(step, situation.seen()));
            } catch (RuntimeException | Error e) {
                outcome.completeExceptionally(e);
            } finally {
                over();
            }
        }

        private synchronized void begin() {
            thread = Thread.currentThread();
            if (ended) {
                thread.interrupt();
            }
        }

        private synchronized void over() {
            thread = null;
            // An interrupt that came too late must not hit what this thread does next.
            Thread.interrupted();
        }

        private void end() {
            synchronized (this) {
                ended = true;
                if (thread != null) {
                    thread.interrupt();
                }
            }
            outcome.handle((how, problem) -> true).join();
        }
    }
}
