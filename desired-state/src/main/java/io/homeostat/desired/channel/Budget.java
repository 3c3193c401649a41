package io.homeostat.desired.channel;

import com.google.common.base.Ticker;
import java.time.Duration;

/**
 * What a control plane lets an agent send in a minute. Unlimited until it says otherwise. Not to be used by several threads at once.
 *
 * <p>A quarter of a minute's share may be sent at once, the rest trickles in, so that no minute holds more than was allowed, however
 * minutes are counted. Of less than four there is no quarter: they go out evenly.
 */
final class Budget {
    /** A second more than a minute: what leaves evenly does not arrive evenly. */
    private static final long MINUTE = Duration.ofSeconds(61).toNanos();

    private final Ticker ticker;
    private final Bucket messages = new Bucket();
    private final Bucket bytes = new Bucket();

    Budget(Ticker ticker) {
        this.ticker = ticker;
    }

    /**
     * From now on. What was spent under the former limits stays spent: a new stream is not a new minute.
     *
     * @param messagesPerMinute 0: without limit
     * @param bytesPerMinute 0: without limit
     */
    void limit(long messagesPerMinute, long bytesPerMinute) {
        long now = ticker.read();
        messages.limit(messagesPerMinute, now);
        bytes.limit(bytesPerMinute, now);
    }

    /** Takes a message out of the budget, or says how many nanoseconds to wait until that is possible; 0: taken. */
    long take(int size) {
        long now = ticker.read();
        long wait = Math.max(messages.missing(1, now), bytes.missing(size, now));
        if (wait == 0) {
            messages.take(1);
            bytes.take(size);
        }
        return wait;
    }

    private static final class Bucket {
        private static final int BURST_SHARE = 4;

        private double limit;
        private double burst;
        private double level;
        private long filled;

        void limit(long perMinute, long now) {
            if (perMinute != limit) {
                boolean first = limit == 0;
                fill(now);
                limit = perMinute;
                burst = Math.max(1, limit / BURST_SHARE);
                level = first ? burst : Math.min(level, burst);
                filled = now;
            }
        }

        /** What is larger than all that fits in waits until it is full and leaves a debt. */
        long missing(int amount, long now) {
            if (limit == 0) {
                return 0;
            }
            fill(now);
            double lacking = Math.min(amount, burst) - level;
            return lacking <= 0 ? 0 : Math.max(1, (long) Math.ceil(lacking / perNano()));
        }

        void take(int amount) {
            level -= amount;
        }

        private void fill(long now) {
            level = Math.min(burst, level + (now - filled) * perNano());
            filled = now;
        }

        private double perNano() {
            return (limit < BURST_SHARE ? limit : limit - burst) / MINUTE;
        }
    }
}
