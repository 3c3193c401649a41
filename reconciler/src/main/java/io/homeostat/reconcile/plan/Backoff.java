package io.homeostat.reconcile.plan;

import com.google.common.hash.Hashing;
import io.homeostat.desired.model.WorkloadId;
import java.nio.charset.StandardCharsets;
import java.time.Duration;

/**
 * How long to pause after the n-th failure in a row: {@code initial} after the first, then {@code step * factor^(n-2)} up to a
 * cap, with full jitter. The jitter comes from a seed, so that a plan that is made twice says the same.
 *
 * @param initial exact, without jitter: a first crash is usually not part of a storm
 * @param step upper bound of the second pause
 * @param factor by which the bound grows from one pause to the next
 */
public record Backoff(Duration initial, Duration step, int factor, Duration cap) {
    /** The least bound a growing pause starts from; below it a crash loop would burn a core. */
    private static final Duration LEAST_PAUSE = Duration.ofMillis(100);

    /**
     * The pause after so many failures.
     *
     * @param failures in a row, at least 1
     */
    public Duration after(int failures, WorkloadId id, long seed) {
        if (failures <= 1) {
            return min(initial);
        }
        Duration bound = bound(failures);
        // Full jitter, but never none at all: a pause of zero would make the exponent meaningless.
        long floor = Math.min(LEAST_PAUSE.toMillis(), bound.toMillis());
        long span = Math.max(1, bound.toMillis() - floor + 1);
        long random = Hashing.murmur3_128()
                .newHasher()
                .putLong(seed)
                .putString(id.toString(), StandardCharsets.UTF_8)
                .putInt(failures)
                .hash()
                .asLong();
        return Duration.ofMillis(floor + Math.floorMod(random, span));
    }

    /** The longest that the pause after so many failures can be. */
    public Duration bound(int failures) {
        if (failures <= 1) {
            return min(initial);
        }
        Duration bound = step;
        for (int i = 2; i < failures && bound.compareTo(cap) < 0; i++) {
            bound = bound.multipliedBy(factor);
        }
        return min(bound);
    }

    private Duration min(Duration pause) {
        return pause.compareTo(cap) < 0 ? pause : cap;
    }
}
