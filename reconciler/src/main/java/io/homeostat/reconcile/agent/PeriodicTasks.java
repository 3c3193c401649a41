package io.homeostat.reconcile.agent;

import io.homeostat.desired.state.StoreException;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Work that is done again and again, one piece at a time, by a virtual thread: it waits most of the time. A piece that throws is logged, and is done again when it is due the next time. */
final class PeriodicTasks implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(PeriodicTasks.class);
    private static final Duration PATIENCE_AT_CLOSE = Duration.ofSeconds(10);

    private final ScheduledExecutorService thread;
    private Optional<ScheduledFuture<?>> awaited = Optional.empty();

    PeriodicTasks(String name) {
        this.thread = Executors.newSingleThreadScheduledExecutor(
                Thread.ofVirtual().name(name).factory());
    }

    /** Soon, once. */
    void soon(String what, Runnable work) {
        in(Duration.ZERO, what, work);
    }

    /** Once, after a while. */
    void in(Duration delay, String what, Runnable work) {
        Optional<ScheduledFuture<?>> _ = schedule(delay, what, work);
    }

    /** Once, after a while, in place of what was put here before and has not begun: work that asks for itself again stays one piece. */
    void instead(Duration delay, String what, Runnable work) {
        instead(() -> delay, what, work);
    }

    /** The same with a delay that is asked for in turn: of several who ask at once, the last to do so sees what the others have changed. */
    synchronized void instead(Supplier<Duration> delay, String what, Runnable work) {
        awaited.ifPresent(before -> before.cancel(false));
        awaited = schedule(delay.get(), what, work);
    }

    private Optional<ScheduledFuture<?>> schedule(Duration delay, String what, Runnable work) {
        try {
            // What it throws is logged by itself.
            return Optional.of(thread.schedule(() -> guarded(what, work), delay.toMillis(), TimeUnit.MILLISECONDS));
        } catch (RejectedExecutionException e) {
            LOG.debug("closed before it was time for this: {}", what, e);
            return Optional.empty();
        }
    }

    /** Again and again, for the first time after a pause. */
    void every(Supplier<Duration> pause, String what, Runnable work) {
        in(pause.get(), what, () -> {
            guarded(what, work);
            every(pause, what, work);
        });
    }

    private static void guarded(String what, Runnable work) {
        try {
            work.run();
        } catch (StoreException e) {
            LOG.error("{} failed; it is tried again when it is due: {}", what, e.getMessage());
        } catch (RuntimeException | Error e) {
            LOG.error("{} failed; it is tried again when it is due: {}", what, e.getMessage(), e);
        }
    }

    /** Interrupts what is under way and waits a bounded time for it. */
    @Override
    public void close() {
        thread.shutdownNow();
        try {
            if (!thread.awaitTermination(PATIENCE_AT_CLOSE.toMillis(), TimeUnit.MILLISECONDS)) {
                LOG.warn(
                        "work on the agenda is still under way after {} s; it is left behind",
                        PATIENCE_AT_CLOSE.toSeconds());
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
