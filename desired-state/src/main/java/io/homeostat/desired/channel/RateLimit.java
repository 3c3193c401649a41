package io.homeostat.desired.channel;

import com.github.benmanes.caffeine.cache.Ticker;
import io.homeostat.desired.platform.TokenBucket;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * How much a control plane lets an agent send in a minute: no limit until it sets one. Not thread-safe.
 *
 * <p>A quarter of a minute's share may be sent at once, the rest trickles in, so that no minute holds more than was allowed, wherever
 * it is taken to begin. A share of less than four is spread evenly.
 */
final class RateLimit {
    /** A second more than a minute: what leaves evenly does not arrive evenly. */
    private static final double MINUTE = Duration.ofSeconds(61).toNanos();

    private static final int BURST_SHARE = 4;

    private final Ticker ticker;
    private @Nullable TokenBucket messages;
    private @Nullable TokenBucket bytes;

    RateLimit(Ticker ticker) {
        this.ticker = ticker;
    }

    /** Sets the limits, 0 for none. What was spent under the former ones stays spent: a new stream is not a new minute. */
    void limit(long messagesPerMinute, long bytesPerMinute) {
        long now = ticker.read();
        messages = limited(messages, messagesPerMinute, now);
        bytes = limited(bytes, bytesPerMinute, now);
    }

    private static @Nullable TokenBucket limited(@Nullable TokenBucket before, long perMinute, long now) {
        if (perMinute == 0) {
            return null;
        }
        double burst = Math.max(1, (double) perMinute / BURST_SHARE);
        double interval = MINUTE / (perMinute < BURST_SHARE ? perMinute : perMinute - burst);
        if (before == null) {
            return new TokenBucket(burst, interval, now);
        }
        before.limit(burst, interval, now);
        return before;
    }

    /** Takes a message of this size; returns 0, or the nanoseconds to wait until it can be taken. */
    long take(int size) {
        long now = ticker.read();
        long wait = Math.max(
                messages == null ? 0 : messages.nanosUntil(1, now), bytes == null ? 0 : bytes.nanosUntil(size, now));
        if (wait == 0) {
            if (messages != null) {
                messages.take(1);
            }
            if (bytes != null) {
                bytes.take(size);
            }
        }
        return wait;
    }
}
