package io.homeostat.desired.platform;

import java.time.Instant;
import java.time.temporal.ChronoUnit;

/**
 * A token bucket: holds up to its capacity, and regains one token after each interval. Time is an argument, the nanoseconds of whatever
 * clock the caller goes by; a clock that is set back adds nothing. Not thread-safe.
 */
public final class TokenBucket {
    /** What rounding may take off a token that has been regained. */
    private static final double ROUNDING = 1e-9;

    private double capacity;
    private double nanosPerToken;
    private double level;
    private long filled;

    /** A full bucket, with a capacity of at least 1. */
    public TokenBucket(double capacity, double nanosPerToken, long now) {
        this.capacity = capacity;
        this.nanosPerToken = nanosPerToken;
        this.level = capacity;
        this.filled = now;
    }

    /** The nanoseconds of an instant, for callers with a clock. */
    public static long nanos(Instant instant) {
        return ChronoUnit.NANOS.between(Instant.EPOCH, instant);
    }

    /** Changes the limits. What was taken under the former ones stays taken. */
    public void limit(double newCapacity, double newNanosPerToken, long now) {
        refill(now);
        capacity = newCapacity;
        nanosPerToken = newNanosPerToken;
        level = Math.min(level, capacity);
    }

    /** How many whole tokens there are; negative while there is a debt. */
    public long available(long now) {
        refill(now);
        return (long) Math.floor(level + ROUNDING);
    }

    /**
     * How long until that many can be taken; 0 if they can be now. More than the capacity can be taken once the bucket is full, and
     * leave a debt.
     */
    public long nanosUntil(long tokens, long now) {
        refill(now);
        double missing = Math.min((double) tokens, capacity) - level;
        return missing <= ROUNDING ? 0 : Math.max(1, (long) Math.ceil(missing * nanosPerToken));
    }

    /** Takes tokens whether they are there or not. */
    public void take(long tokens) {
        level -= tokens;
    }

    private void refill(long now) {
        long passed = now - filled;
        if (passed > 0) {
            level = Math.min(capacity, level + passed / nanosPerToken);
        }
        filled = now;
    }
}
