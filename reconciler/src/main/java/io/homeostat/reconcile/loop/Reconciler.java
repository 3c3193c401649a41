package io.homeostat.reconcile.loop;

import com.github.benmanes.caffeine.cache.Ticker;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Backoff;
import io.homeostat.desired.platform.VirtualThreads;
import io.homeostat.desired.state.StoreException;
import io.homeostat.observe.Defect;
import io.homeostat.reconcile.loop.PassId.PassMarks;
import io.homeostat.reconcile.loop.PassId.Trigger;
import io.homeostat.reconcile.loop.WorkQueue.Taken;
import io.homeostat.reconcile.plan.WorkloadPlan;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BiFunction;
import java.util.function.Predicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The loop. Whoever suspects that a workload needs attention calls {@link #hint}; a pass finds out.
 *
 * <ul>
 *   <li>Level-triggered: a hint says which workload, never what happened. A pass begins with looking.
 *   <li>Hints of one workload collapse; one pass at a time per workload; a hint during a pass brings another pass after it.
 *   <li>Each pass has a virtual thread of its own, so what is slow in one workload delays no other.
 *   <li>A pass that did something is followed by another at once; one that has to wait by another when the wait is over.
 *   <li>A pass that throws is logged and repeated after a pause, which grows while that goes on.
 *   <li>What a pass logs carries the workload, the pass's number and its trigger: see {@link PassMarks}.
 * </ul>
 */
public final class Reconciler implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Reconciler.class);
    private static final Backoff AFTER_BROKEN_PASSES = Backoff.doubling(Duration.ofSeconds(5), Duration.ofMinutes(5));
    private static final Duration PATIENCE_AT_CLOSE = Duration.ofSeconds(10);

    /** How often the loop shows that it goes round, when nothing is due. */
    static final Duration ROUND = Duration.ofSeconds(10);

    /** How often a step under way is looked at by who waits for all to settle. */
    private static final Duration LOOK_AT_PROGRESS = Duration.ofSeconds(2);

    private final WorkloadPass pass;
    private final Predicate<WorkloadId> concerns;
    private final PassListener listener;
    private final BiFunction<WorkloadId, PassResult, Optional<Duration>> whenAgain;
    private final Runnable heartbeat;
    private final AtomicLong passes = new AtomicLong();

    /** How many passes of a workload have thrown since one came to its end. */
    private final ConcurrentMap<WorkloadId, Integer> broken = new ConcurrentHashMap<>();

    private final WorkQueue<WorkloadId> queue = new WorkQueue<>(Ticker.systemTicker());
    private final ExecutorService workers = Executors.newThreadPerTaskExecutor(VirtualThreads.factory("pass-"));

    /**
     * @param concerns which workloads get passes; hints of others are ignored
     * @param whenAgain how long after a pass with this result the next one is due; empty: not before a hint. See {@link #forEver} and
     *     {@link #untilSettled}
     * @param heartbeat called every few seconds on the path that passes take: if it stops, so have passes
     */
    public Reconciler(
            WorkloadPass pass,
            Predicate<WorkloadId> concerns,
            PassListener listener,
            BiFunction<WorkloadId, PassResult, Optional<Duration>> whenAgain,
            Runnable heartbeat) {
        this.pass = pass;
        this.concerns = concerns;
        this.listener = listener;
        this.whenAgain = whenAgain;
        this.heartbeat = heartbeat;
    }

    /** For enforcement: what failed is tried again after its pause, and what is settled is looked at in every resync. */
    public static BiFunction<WorkloadId, PassResult, Optional<Duration>> forEver(InstantSource clock, Duration resync) {
        return (id, next) -> switch (next) {
            case PassResult.Again again -> Optional.of(Duration.ZERO);
            case PassResult.UnderWay underWay -> Optional.of(untilDue(clock, underWay.plan(), resync));
            case PassResult.Later later ->
                Optional.of(min(resync, between(clock, later.until().until())));
            case PassResult.Settled settled -> Optional.of(untilDue(clock, settled.plan(), resync));
        };
    }

    /** For convergence: what has failed, or waits for somebody, is left alone. */
    public static BiFunction<WorkloadId, PassResult, Optional<Duration>> untilSettled(InstantSource clock) {
        return (id, next) -> switch (next) {
            case PassResult.Again again -> Optional.of(Duration.ZERO);
            case PassResult.UnderWay underWay -> Optional.of(untilDue(clock, underWay.plan(), LOOK_AT_PROGRESS));
            case PassResult.Later later ->
                switch (later.until().kind()) {
                    case PROGRESS -> Optional.of(between(clock, later.until().until()));
                    case RETRY, DECLARATION -> Optional.empty();
                };
            case PassResult.Settled settled -> Optional.empty();
        };
    }

    /** Starts to hand out passes. */
    public void start() {
        Thread.ofPlatform().name("reconciler").daemon(true).start(this::dispatch);
    }

    /** Requests a pass over a workload that may need attention. */
    public void hint(WorkloadId id, Trigger trigger) {
        queue.add(id, trigger);
    }

    /** As {@link #hint(WorkloadId, Trigger)}, but not before this time is over, unless something else makes it due. */
    public void hint(WorkloadId id, Trigger trigger, Duration delay) {
        queue.add(id, trigger, delay);
    }

    /** How many workloads are due and have no pass yet. */
    public int depth() {
        return queue.depth();
    }

    private void dispatch() {
        try {
            while (!queue.isClosed()) {
                Optional<Taken<WorkloadId>> taken = queue.take(ROUND);
                workers.execute(() -> {
                    try {
                        heartbeat.run();
                    } finally {
                        taken.ifPresent(this::reconcile);
                    }
                });
            }
        } catch (RejectedExecutionException e) {
            LOG.debug("closed while a pass was to begin", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void reconcile(Taken<WorkloadId> due) {
        WorkloadId id = due.key();
        PassId marks = new PassId(id, passes.incrementAndGet(), due.trigger());
        // For thread dumps.
        Thread.currentThread()
                .setName("pass " + id.brief() + " #" + marks.number() + " "
                        + due.trigger().word());
        try (PassMarks _ = PassMarks.set(marks)) {
            reconcile(marks);
        } finally {
            queue.done(id);
        }
    }

    private void reconcile(PassId passId) {
        WorkloadId id = passId.workload();
        try {
            listener.begun(passId);
            PassResult next = pass.run(
                    id,
                    others -> others.stream().filter(concerns).forEach(other -> queue.add(other, Trigger.NEIGHBOUR)),
                    () -> queue.add(id, Trigger.STEP));
            if (next instanceof PassResult.Settled || next instanceof PassResult.Later) {
                broken.remove(id);
            }
            whenAgain.apply(id, next).ifPresent(delay -> queue.add(id, trigger(next), delay));
        } catch (RuntimeException | Error e) {
            // Errors, too, or nobody would ever look at the workload again.
            // A disk that is full soon has room again; a defect stays.
            Duration pause =
                    AFTER_BROKEN_PASSES.bound(e instanceof StoreException ? 1 : broken.merge(id, 1, Integer::sum));
            say(e, pause);
            queue.add(id, Trigger.RETRY, pause);
            listener.broken(id, e);
        }
    }

    private static void say(Throwable problem, Duration pause) {
        // A full disk, usually, or a defect of ours.
        String what = problem instanceof StoreException
                ? String.valueOf(problem.getMessage())
                : Defect.words(problem) + "; --log-level debug shows the stack";
        LOG.error("{}; the pass is repeated in {} s", what, pause.toSeconds());
        LOG.debug("the pass broke off here", problem);
    }

    private static Trigger trigger(PassResult next) {
        return switch (next) {
            case PassResult.Again again -> Trigger.STEP;
            case PassResult.Settled settled -> Trigger.RESYNC;
            case PassResult.UnderWay underWay -> Trigger.WAIT;
            case PassResult.Later later ->
                switch (later.until().kind()) {
                    case PROGRESS -> Trigger.WAIT;
                    case RETRY -> Trigger.RETRY;
                    case DECLARATION -> Trigger.RESYNC;
                };
        };
    }

    /** Starts no more passes, and gives running ones some time to end. */
    public void drain(Duration grace) {
        queue.close();
        workers.shutdown();
        try {
            if (!workers.awaitTermination(grace.toMillis(), TimeUnit.MILLISECONDS)) {
                LOG.info("steps are still under way after {} s; they are interrupted", grace.toSeconds());
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Starts no more passes, interrupts running ones and waits a bounded time for them; workloads go on running. */
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

    private static Duration untilDue(InstantSource clock, WorkloadPlan plan, Duration longest) {
        Instant due = plan.due();
        return due == null ? longest : min(longest, between(clock, due));
    }

    private static Duration between(InstantSource clock, Instant until) {
        Duration left;
        try {
            left = Duration.between(clock.instant(), until);
        } catch (ArithmeticException e) {
            return Duration.ofDays(365);
        }
        return left.isNegative() ? Duration.ZERO : left;
    }

    private static Duration min(Duration a, Duration b) {
        return a.compareTo(b) < 0 ? a : b;
    }
}
