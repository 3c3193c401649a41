package io.homeostat.desired.channel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.desired.channel.SendQueue.RateLimit;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Random;
import org.junit.jupiter.api.Test;

class RateLimitTest {
    private static final long MINUTE = Duration.ofMinutes(1).toNanos();

    private long nanos;
    private final RateLimit rateLimit = new RateLimit(() -> nanos);

    @Test
    void withoutLimitsNothingIsHeld() {
        for (int i = 0; i < 10_000; i++) {
            assertEquals(0, rateLimit.take(1_000_000));
        }
    }

    @Test
    void noMinuteHoldsMoreThanWasAllowedHoweverItIsCounted() {
        Random random = new Random(1);
        for (long limit : new long[] {1, 2, 3, 4, 7, 60, 1_000}) {
            rateLimit.limit(limit, 0);
            ArrayDeque<Long> lastMinute = new ArrayDeque<>();
            for (int i = 0; i < 3_000; i++) {
                nanos += random.nextInt(4) == 0 ? random.nextLong(MINUTE / 4) : 0;
                long wait = rateLimit.take(10);
                if (wait == 0) {
                    lastMinute.add(nanos);
                } else {
                    nanos += wait;
                }
                while (!lastMinute.isEmpty() && nanos - lastMinute.getFirst() > MINUTE) {
                    lastMinute.removeFirst();
                }
                assertTrue(lastMinute.size() <= limit, () -> lastMinute.size() + " of " + limit);
            }
        }
    }

    @Test
    void aFewAMinuteAreUsedUp() {
        for (long limit : new long[] {1, 2, 3}) {
            RateLimit full = new RateLimit(() -> nanos);
            full.limit(limit, 0);
            long end = nanos + 61 * MINUTE;
            long sent = 0;
            for (long wait = full.take(10); nanos < end; wait = full.take(10)) {
                sent += wait == 0 ? 1 : 0;
                nanos += wait;
            }
            long used = sent;
            assertTrue(used >= 60 * limit && used <= 60 * limit + 1, () -> used + " of " + 60 * limit);
        }
    }

    @Test
    void theWaitIsLongEnough() {
        rateLimit.limit(60, 6_000);
        long wait = rateLimit.take(100);
        for (int i = 0; i < 1_000; i++) {
            nanos += wait;
            wait = rateLimit.take(100);
            if (wait > 0) {
                nanos += wait;
                assertEquals(0, rateLimit.take(100));
            }
        }
    }

    @Test
    void whatIsLargerThanAShareGoesOutAloneAndIsPaidForAfterwards() {
        rateLimit.limit(0, 4_000);
        assertEquals(0, rateLimit.take(3_000));
        long wait = rateLimit.take(1);
        assertEquals(40, Duration.ofNanos(wait).toSeconds());
        nanos += wait;
        assertEquals(0, rateLimit.take(1));
    }

    @Test
    void aNewStreamIsNotANewMinute() {
        rateLimit.limit(4, 0);
        assertEquals(0, rateLimit.take(1));
        rateLimit.limit(4, 0);
        assertTrue(rateLimit.take(1) > 0);
        rateLimit.limit(8, 0);
        assertTrue(rateLimit.take(1) > 0);
        rateLimit.limit(0, 0);
        assertEquals(0, rateLimit.take(1));
    }
}
