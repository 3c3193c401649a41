package io.homeostat.observe;

import com.google.common.util.concurrent.RateLimiter;
import java.time.Duration;

/**
 * Keeps work that may be due again as soon as it is done from taking more than a quarter of the time. Some pieces in a row wait for
 * nothing: what a second allows is saved up.
 */
public final class Pace {
    private static final double MILLIS_PER_SECOND = 250;

    /** On a busy machine a piece takes long without taking much of it, and nobody should wait ever longer. */
    private static final int MOST_MILLIS_THAT_COUNT = 100;

    private final RateLimiter millis = RateLimiter.create(MILLIS_PER_SECOND);

    /**
     * Waits until the next piece of work may begin, less than half a second.
     *
     * @param before how long the previous piece took
     */
    public void await(Duration before) {
        // The limiter lets whoever comes next wait for what is taken here.
        double _ = millis.acquire(Math.toIntExact(Math.clamp(before.toMillis(), 1, MOST_MILLIS_THAT_COUNT)));
    }
}
