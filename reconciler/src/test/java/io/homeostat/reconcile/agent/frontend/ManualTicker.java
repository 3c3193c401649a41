package io.homeostat.reconcile.agent.frontend;

import com.github.benmanes.caffeine.cache.Ticker;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;

/** A ticker that stands still until a test advances it. */
public final class ManualTicker implements Ticker {
    private final AtomicLong nanos = new AtomicLong();
    private final AtomicLong step = new AtomicLong();
    private final AtomicLong reads = new AtomicLong();

    @Override
    public long read() {
        long now = nanos.getAndAdd(step.get());
        reads.incrementAndGet();
        return now;
    }

    /** Returns how often it was read. */
    public long reads() {
        return reads.get();
    }

    public void advance(Duration by) {
        nanos.addAndGet(by.toNanos());
    }

    /** Advances by this much after each read. */
    public void advanceWithEachRead(Duration by) {
        step.set(by.toNanos());
    }
}
