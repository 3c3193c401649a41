package io.homeostat.reconcile.agent;

import com.github.benmanes.caffeine.cache.Ticker;
import io.homeostat.reconcile.loop.PassListener;
import io.homeostat.reconcile.plan.Step;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.LongSupplier;

/**
 * Has the whole heap collected when work is over, and the JVM gives back what is free then. By itself it enlarges the heap as long as it
 * may before it collects more than the youngest objects, so an agent that has nothing to do for weeks would keep what its first minute
 * has left.
 */
final class HeapRelease implements PassListener, AutoCloseable {
    /** How long no step has been begun when work is over. */
    static final Duration QUIET = Duration.ofSeconds(5);

    /** Nothing else happens meanwhile, for some tens of milliseconds, so it is not done after each restart of a workload. */
    static final Duration APART = Duration.ofMinutes(1);

    /** What looking alone leaves accumulates, too. */
    private static final Duration WITHOUT_STEPS = Duration.ofMinutes(10);

    /** In bytes; less is not worth it. */
    static final long WORTH_IT = 6 << 20;

    private final LongSupplier used;
    private final Runnable collect;
    private final Ticker ticker;
    private final PeriodicTasks tasks = new PeriodicTasks("heap");
    private final AtomicBoolean awaited = new AtomicBoolean();
    private volatile long lastStep;
    private volatile long notBefore;
    /** How much was in use after the last collection. */
    private volatile long kept;

    HeapRelease() {
        this(
                () -> Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory(),
                System::gc,
                Ticker.systemTicker());
        tasks.every(() -> WITHOUT_STEPS, "looking at the heap", this::look);
    }

    /** @param used how much of the heap, in bytes */
    HeapRelease(LongSupplier used, Runnable collect, Ticker ticker) {
        this.used = used;
        this.collect = collect;
        this.ticker = ticker;
        this.lastStep = ticker.read();
        this.notBefore = lastStep;
    }

    @Override
    public void starting(Step step) {
        lastStep = ticker.read();
        if (awaited.compareAndSet(false, true)) {
            tasks.in(QUIET, "giving back memory", this::look);
        }
    }

    private void look() {
        awaited.set(false);
        collectWhenDue()
                .filter(_ -> awaited.compareAndSet(false, true))
                .ifPresent(wait -> tasks.in(wait, "giving back memory", this::look));
    }

    /** Collects when that is due and worth it; returns how long it is until then when it is not due yet. */
    Optional<Duration> collectWhenDue() {
        if (used.getAsLong() - kept < WORTH_IT) {
            return Optional.empty();
        }
        long now = ticker.read();
        long wait = Math.max(lastStep + QUIET.toNanos() - now, notBefore - now);
        if (wait > 0) {
            return Optional.of(Duration.ofNanos(wait));
        }
        collect.run();
        kept = used.getAsLong();
        notBefore = now + APART.toNanos();
        return Optional.empty();
    }

    @Override
    public void close() {
        tasks.close();
    }
}
