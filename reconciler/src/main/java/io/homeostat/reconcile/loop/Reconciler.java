package io.homeostat.reconcile.loop;

import com.google.common.base.Ticker;
import io.homeostat.desired.model.WorkloadId;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.BiFunction;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The loop: whoever suspects that a workload is not as it should be names it with {@link #hint}; a pass finds out.
 *
 * <ul>
 *   <li>Level-triggered: a hint says which workload, never what happened. A pass begins with looking.
 *   <li>Hints of one workload collapse; one pass at a time per workload; a hint during a pass brings another pass after it.
 *   <li>Each pass has a virtual thread of its own, so what is slow in one workload delays no other.
 *   <li>A pass that did something is followed by another at once; one that has to wait by another when the wait is over.
 *   <li>A pass that throws is logged and repeated after a pause.
 * </ul>
 */
public final class Reconciler implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Reconciler.class);
    private static final Duration PAUSE_AFTER_A_BROKEN_PASS = Duration.ofSeconds(5);
    private static final Duration PATIENCE_AT_CLOSE = Duration.ofSeconds(10);

    private final WorkloadPass pass;
    private final PassListener listener;
    private final BiFunction<WorkloadId, Next, Optional<Duration>> whenAgain;
    private final WorkQueue<WorkloadId> queue = new WorkQueue<>(Ticker.systemTicker());
    private final ExecutorService workers = Executors.newThreadPerTaskExecutor(
            Thread.ofVirtual().name("pass-", 0).factory());

    /**
     * @param whenAgain when a workload is due again after a pass that ended so; empty: only when it is hinted at. See
     *     {@link #forEver} and {@link #untilSettled}
     */
    public Reconciler(
            WorkloadPass pass, PassListener listener, BiFunction<WorkloadId, Next, Optional<Duration>> whenAgain) {
        this.pass = pass;
        this.listener = listener;
        this.whenAgain = whenAgain;
    }

    /** Enforcement: what failed is tried again when its pause is over, and what is settled is looked at in every resync. */
    public static BiFunction<WorkloadId, Next, Optional<Duration>> forEver(InstantSource clock, Duration resync) {
        return (id, next) -> switch (next) {
            case Next.Again again -> Optional.of(Duration.ZERO);
            case Next.Later later -> Optional.of(min(resync, between(clock, later)));
            case Next.Settled settled -> Optional.of(resync);
        };
    }

    /** Convergence: what has failed for now, or waits for somebody, is left. */
    public static BiFunction<WorkloadId, Next, Optional<Duration>> untilSettled(InstantSource clock) {
        return (id, next) -> switch (next) {
            case Next.Again again -> Optional.of(Duration.ZERO);
            case Next.Later later ->
                switch (later.until().kind()) {
                    case PROGRESS -> Optional.of(between(clock, later));
                    case RETRY, DECLARATION -> Optional.empty();
                };
            case Next.Settled settled -> Optional.empty();
        };
    }

    /** Starts to hand out passes. */
    public void start() {
        Thread.ofPlatform().name("reconciler").daemon(true).start(this::dispatch);
    }

    /** Says that this workload may need attention. */
    public void hint(WorkloadId id) {
        queue.add(id);
    }

    private void dispatch() {
        try {
            for (Optional<WorkloadId> id = queue.take(); id.isPresent(); id = queue.take()) {
                WorkloadId due = id.get();
                workers.execute(() -> reconcile(due));
            }
        } catch (RejectedExecutionException e) {
            LOG.debug("closed while a pass was to begin", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void reconcile(WorkloadId id) {
        try {
            Next next = pass.run(id);
            whenAgain.apply(id, next).ifPresent(delay -> queue.add(id, delay));
        } catch (RuntimeException | Error e) {
            // Errors, too: a workload that nobody looks at again would be lost without a word.
            LOG.error("[{}] pass broke off; it is repeated in {} s", id, PAUSE_AFTER_A_BROKEN_PASS.toSeconds(), e);
            queue.add(id, PAUSE_AFTER_A_BROKEN_PASS);
            listener.broken(id, e);
        } finally {
            queue.done(id);
        }
    }

    /** Hands out no more passes, interrupts those under way and waits a bounded time for them; workloads go on running. */
    @Override
    public void close() {
        queue.close();
        workers.shutdownNow();
        try {
            if (!workers.awaitTermination(PATIENCE_AT_CLOSE.toMillis(), TimeUnit.MILLISECONDS)) {
                LOG.warn("steps are still under way after {} s; they are left behind", PATIENCE_AT_CLOSE.toSeconds());
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static Duration between(InstantSource clock, Next.Later later) {
        Duration left;
        try {
            left = Duration.between(clock.instant(), later.until().until());
        } catch (ArithmeticException e) {
            return Duration.ofDays(365);
        }
        return left.isNegative() ? Duration.ZERO : left;
    }

    private static Duration min(Duration a, Duration b) {
        return a.compareTo(b) < 0 ? a : b;
    }
}
