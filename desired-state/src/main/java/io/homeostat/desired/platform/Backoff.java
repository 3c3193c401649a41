package io.homeostat.desired.platform;

import java.time.Duration;
import java.util.function.LongUnaryOperator;
import java.util.random.RandomGenerator;

/**
 * How long to wait before the next attempt: exponentially longer with each failure in a row, up to a cap, with full jitter so that
 * many machines that failed together do not come back together. Pure: whoever waits brings the randomness.
 *
 * @param initial the bound after the first failure
 * @param step the bound after the second
 * @param factor by which the bound grows with each further failure
 * @param cap the highest bound, also of the first
 */
public record Backoff(Duration initial, Duration step, int factor, Duration cap) {
    /** Starts at {@code initial} and doubles with each further failure. */
    public static Backoff doubling(Duration initial, Duration cap) {
        return new Backoff(initial, initial.multipliedBy(2), 2, cap);
    }

    /** The longest possible delay after this many failures in a row; less than one counts as one. */
    public Duration bound(int failures) {
        if (failures <= 1) {
            return capped(initial);
        }
        Duration bound = step;
        for (int i = 2; i < failures && factor > 1 && bound.isPositive() && bound.compareTo(cap) < 0; i++) {
            bound = bound.multipliedBy(factor);
        }
        return capped(bound);
    }

    /** A delay between a floor and the bound, each millisecond equally likely; a bound below the floor wins. */
    public Duration delay(int failures, Duration floor, RandomGenerator random) {
        return drawn(failures, floor, random::nextLong);
    }

    /** As above, with a number drawn by the caller; a hash of a seed gives the same delay again. */
    public Duration delay(int failures, Duration floor, long random) {
        return drawn(failures, floor, bound -> Math.floorMod(random, bound));
    }

    private Duration drawn(int failures, Duration floor, LongUnaryOperator below) {
        long most = bound(failures).toMillis();
        long least = Math.min(floor.toMillis(), most);
        return Duration.ofMillis(least + below.applyAsLong(most - least + 1));
    }

    private Duration capped(Duration bound) {
        return bound.compareTo(cap) < 0 ? bound : cap;
    }
}
