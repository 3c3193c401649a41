package io.homeostat.desired.platform;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.LongSummaryStatistics;
import java.util.Random;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class BackoffTest {
    private static final Duration FLOOR = Duration.ofMillis(100);
    private final Backoff backoff = new Backoff(Duration.ZERO, Duration.ofSeconds(1), 2, Duration.ofMinutes(5));

    @Test
    void theFirstBoundIsTheInitialDelay() {
        assertEquals(Duration.ZERO, backoff.bound(1));
        assertEquals(Duration.ZERO, backoff.delay(1, FLOOR, 17));
    }

    @Test
    void theBoundGrowsByTheFactorUpToTheCap() {
        assertEquals(Duration.ofSeconds(1), backoff.bound(2));
        assertEquals(Duration.ofSeconds(2), backoff.bound(3));
        assertEquals(Duration.ofSeconds(256), backoff.bound(10));
        assertEquals(Duration.ofMinutes(5), backoff.bound(11));
        assertEquals(Duration.ofMinutes(5), backoff.bound(Integer.MAX_VALUE));
    }

    @Test
    void doublingStartsAtTheInitialDelay() {
        Backoff doubling = Backoff.doubling(Duration.ofMillis(500), Duration.ofSeconds(30));
        long[] bounds = {500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000};
        for (int failures = 1; failures <= bounds.length; failures++) {
            assertEquals(Duration.ofMillis(bounds[failures - 1]), doubling.bound(failures));
        }
    }

    @Test
    void aFactorOfOneAndAStepOfNothingStayWhereTheyAre() {
        assertEquals(
                Duration.ofSeconds(1),
                new Backoff(Duration.ZERO, Duration.ofSeconds(1), 1, Duration.ofMinutes(5)).bound(Integer.MAX_VALUE));
        assertEquals(
                Duration.ZERO,
                new Backoff(Duration.ZERO, Duration.ZERO, 2, Duration.ofMinutes(5)).bound(Integer.MAX_VALUE));
    }

    @Test
    void everyDelayIsBetweenTheFloorAndTheBound() {
        Random random = new Random(1);
        for (int failures = 2; failures < 30; failures++) {
            for (int i = 0; i < 50; i++) {
                Duration delay = backoff.delay(failures, FLOOR, random);
                assertTrue(delay.compareTo(FLOOR) >= 0, delay.toString());
                assertTrue(delay.compareTo(backoff.bound(failures)) <= 0, delay.toString());
            }
        }
    }

    @Test
    void theJitterIsFull() {
        Random random = new Random(1);
        LongSummaryStatistics spread = LongStream.range(0, 5_000)
                .map(i -> backoff.delay(11, Duration.ZERO, random).toMillis())
                .summaryStatistics();

        assertEquals(150_000, spread.getAverage(), 5_000);
        assertTrue(spread.getMin() < 1_000 && spread.getMax() > 299_000, spread::toString);
    }

    @Test
    void oneNumberGivesOneDelay() {
        assertEquals(backoff.delay(9, FLOOR, 12_345), backoff.delay(9, FLOOR, 12_345));
    }

    @Test
    void aCapBelowTheFloorOrTheInitialDelayWins() {
        Backoff capped = new Backoff(Duration.ofSeconds(10), Duration.ofSeconds(10), 2, Duration.ofMillis(50));

        assertEquals(Duration.ofMillis(50), capped.delay(1, FLOOR, -1));
        assertEquals(Duration.ofMillis(50), capped.delay(5, FLOOR, Long.MIN_VALUE));
    }
}
