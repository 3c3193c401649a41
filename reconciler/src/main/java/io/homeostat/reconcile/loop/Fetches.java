package io.homeostat.reconcile.loop;

import com.google.common.collect.ImmutableCollection;
import com.google.common.util.concurrent.Uninterruptibles;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.reconcile.plan.Situation;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.plan.WorkloadPlan;
import io.homeostat.reconcile.record.Outcome;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.MDC;

/**
 * What is downloaded and unpacked beside the passes, at most one step per workload: that may take an hour, and what runs is to be looked
 * after meanwhile.
 */
final class Fetches implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Fetches.class);
    private static final Duration PATIENCE_AT_CLOSE = Duration.ofSeconds(10);

    private final StepExecutor steps;
    private final Executor threads;
    private final ConcurrentMap<WorkloadId, Fetch> underWay = new ConcurrentHashMap<>();
    private volatile boolean closed;

    /** @param threads where steps are executed */
    Fetches(StepExecutor steps, Executor threads) {
        this.steps = steps;
        this.threads = threads;
    }

    static boolean isFetch(Step step) {
        return step instanceof Step.Download || step instanceof Step.Unpack;
    }

    /** Whether a fetch may go on while that is done: repairs of what runs are no reason to begin again with it. */
    static boolean goesOnBeside(Step other, Step fetch) {
        return switch (other) {
            case Step.Launch s -> true;
            case Step.Start s -> true;
            case Step.ApplyConfig s -> true;
            case Step.Reload s -> true;
            case Step.Reboot s -> true;
            case Step.SetLimits s -> true;
            case Step.Stop s -> true;
            // An unpack works in the same staging directory.
            case Step.Activate s -> fetch instanceof Step.Download;
            case Step.Download s -> false;
            case Step.Unpack s -> false;
            case Step.Remove s -> false;
            case Step.CollectGarbage s -> false;
            case Step.Wait s -> false;
        };
    }

    Optional<Fetch> of(WorkloadId id) {
        return Optional.ofNullable(underWay.get(id));
    }

    /** @param over called when it is, however it ends */
    Fetch begin(Situation situation, WorkloadPlan plan, Step step, Runnable over) {
        Fetch fetch = new Fetch(situation, plan, step);
        underWay.put(step.workload(), fetch);
        if (closed) {
            fetch.breakOff();
        }
        Map<String, String> marks = MDC.getCopyOfContextMap();
        try {
            threads.execute(() -> {
                if (marks != null) {
                    MDC.setContextMap(marks);
                }
                fetch.run(steps);
                over.run();
            });
        } catch (RuntimeException | Error e) {
            forget(fetch);
            throw e;
        }
        return fetch;
    }

    /** Somebody wants these tried now: that what was begun before fails is no answer to that. */
    void retried(ImmutableCollection<WorkloadId> ids) {
        ids.forEach(id -> of(id).ifPresent(fetch -> fetch.retried = true));
    }

    /** Its outcome is known, or of no interest. */
    void forget(Fetch fetch) {
        underWay.remove(fetch.step.workload(), fetch);
    }

    /** Breaks it off if it is still under way, and waits until it is over; if it is needed after all, it is resumed. */
    void end(Fetch fetch) {
        if (!fetch.isOver()) {
            LOG.info("{} is broken off", fetch.step.word());
        }
        fetch.breakOff();
        fetch.outcome.handle((how, problem) -> true).join();
        if (fetch.outcome.isCompletedExceptionally()) {
            LOG.error("{} broke, and is of no interest any more", fetch.step.word(), fetch.outcome.exceptionNow());
        }
        forget(fetch);
    }

    /** Breaks all of them off, and waits a bounded time for that. */
    @Override
    public void close() {
        closed = true;
        underWay.values().forEach(Fetch::breakOff);
        try {
            Uninterruptibles.getUninterruptibly(
                    CompletableFuture.allOf(underWay.values().stream()
                            .map(fetch -> fetch.outcome)
                            .toArray(CompletableFuture[]::new)),
                    PATIENCE_AT_CLOSE);
        } catch (TimeoutException e) {
            LOG.warn("archives are still being fetched after {} s; that is left behind", PATIENCE_AT_CLOSE.toSeconds());
        } catch (ExecutionException e) {
            LOG.error("a fetch broke", e.getCause());
        }
    }

    /** One step, and by which plan and in which situation it was begun. */
    static final class Fetch {
        private final Situation situation;
        private final WorkloadPlan plan;
        private final Step step;
        private final CompletableFuture<Outcome> outcome = new CompletableFuture<>();
        private @Nullable Thread thread;
        private boolean brokenOff;
        private volatile boolean retried;

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

        /** Whether it failed for what was so before somebody wanted it tried again. */
        boolean failedBeforeRetry() {
            return retried && !outcome.isCompletedExceptionally() && outcome() instanceof Outcome.Failed;
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

        private void run(StepExecutor steps) {
            try {
                if (begin()) {
                    outcome.complete(steps.execute(step, situation.seen()));
                }
            } catch (RuntimeException | Error e) {
                outcome.completeExceptionally(e);
            } finally {
                over();
            }
        }

        private synchronized boolean begin() {
            thread = Thread.currentThread();
            return !brokenOff;
        }

        private synchronized void over() {
            thread = null;
            // An interrupt that came too late must not hit what this thread does next.
            Thread.interrupted();
        }

        private synchronized void breakOff() {
            brokenOff = true;
            if (thread == null) {
                // Not begun yet, or over.
                outcome.complete(new Outcome.Interrupted());
            } else {
                thread.interrupt();
            }
        }
    }
}
