package io.homeostat.desired.channel;

import java.time.Duration;
import java.util.random.RandomGenerator;

/**
 * Pauses that grow with full jitter, so that the agents of a control plane that comes back don't all come back at once.
 *
 * @param first the upper bound of the first pause; that of each further one is twice as high
 * @param longest the highest bound
 */
record Pauses(Duration first, Duration longest) {
    /** Doubled so often, any first pause is longer than the longest. */
    private static final int MAX_DOUBLINGS = 30;

    /** A full jitter is allowed to be nothing; this share of the bound makes sure that nobody is hammered. */
    private static final int LEAST_SHARE = 10;

    /** @param failures in a row, at least 1 */
    Duration after(int failures, RandomGenerator random) {
        long bound =
                Math.min(longest.toMillis(), first.toMillis() << Math.min(Math.max(failures, 1) - 1, MAX_DOUBLINGS));
        long least = bound / LEAST_SHARE;
        return Duration.ofMillis(least + random.nextLong(bound - least + 1));
    }
}
