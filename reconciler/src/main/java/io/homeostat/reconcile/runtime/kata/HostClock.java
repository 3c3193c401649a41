package io.homeostat.reconcile.runtime.kata;

import java.time.Duration;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/** Whether the clock of this machine was set, as the clocks of its guests then have to be, too. */
final class HostClock {
    /** What is slewed, and what two readings are apart, is less. */
    private static final Duration JUMP = Duration.ofMillis(500);

    private @Nullable Instant wall;
    private long nanos;

    /**
     * Whether it was set since the last call.
     *
     * @param nanoTime of a clock that nobody sets
     */
    synchronized boolean hasJumped(Instant now, long nanoTime) {
        Instant before = wall;
        Duration passed = Duration.ofNanos(nanoTime - nanos);
        wall = now;
        nanos = nanoTime;
        return before != null
                && Duration.between(before.plus(passed), now).abs().compareTo(JUMP) > 0;
    }
}
