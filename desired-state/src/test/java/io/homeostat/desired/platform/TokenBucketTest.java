package io.homeostat.desired.platform;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class TokenBucketTest {
    private static final long START = Long.MAX_VALUE - 500;
    private final TokenBucket bucket = new TokenBucket(10, 100, START);

    @Test
    void beginsFullAndHoldsNoMoreThanItsCapacity() {
        assertEquals(10, bucket.available(START));
        assertEquals(10, bucket.available(after(1_000_000)));
    }

    @Test
    void regainsATokenAfterEachIntervalHoweverOftenItIsAsked() {
        bucket.take(10);
        for (int passed = 0; passed < 100; passed++) {
            assertEquals(0, bucket.available(after(passed)));
        }
        assertEquals(1, bucket.available(after(100)));
        assertEquals(7, bucket.available(after(700)));
    }

    @Test
    void saysHowLongToWait() {
        bucket.take(9);
        assertEquals(0, bucket.nanosUntil(1, START));
        assertEquals(200, bucket.nanosUntil(3, START));
        assertEquals(150, bucket.nanosUntil(3, after(50)));
        assertEquals(0, bucket.nanosUntil(3, after(200)));
    }

    @Test
    void moreThanItHoldsWaitsUntilItIsFullAndLeavesADebt() {
        assertEquals(0, bucket.nanosUntil(15, START));
        bucket.take(15);
        assertEquals(-5, bucket.available(START));
        assertEquals(600, bucket.nanosUntil(1, START));
    }

    @Test
    void whatWasTakenStaysTakenUnderOtherLimits() {
        bucket.take(10);
        bucket.limit(20, 50, START);
        assertEquals(0, bucket.available(START));
        assertEquals(2, bucket.available(after(100)));
        bucket.limit(1, 50, after(100));
        assertEquals(1, bucket.available(after(100)));
    }

    @Test
    void aClockThatIsSetBackAddsNothingAndGoesOnFromThere() {
        bucket.take(10);
        assertEquals(0, bucket.available(after(-1_000)));
        assertEquals(1, bucket.available(after(-900)));
    }

    /** The nanoseconds overflow on the way. */
    private static long after(long nanos) {
        return START + nanos;
    }
}
