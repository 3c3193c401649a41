package io.homeostat.desired.channel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.LongSummaryStatistics;
import java.util.Random;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class PausesTest {
    private final Pauses pauses = new Pauses(Duration.ofMillis(500), Duration.ofSeconds(30));
    private final Random random = new Random(1);

    @Test
    void theBoundDoublesUpToTheLongest() {
        long[] bounds = {500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000};
        for (int failures = 1; failures <= bounds.length; failures++) {
            LongSummaryStatistics spread = spread(failures);
            assertTrue(spread.getMax() <= bounds[failures - 1], spread::toString);
            assertTrue(spread.getMax() > bounds[failures - 1] * 0.95, spread::toString);
        }
        assertTrue(spread(Integer.MAX_VALUE).getMax() <= 30_000);
    }

    @Test
    void theJitterIsFullAndYetNobodyIsHammered() {
        LongSummaryStatistics spread = spread(7);
        assertTrue(spread.getMin() >= 3_000 && spread.getMin() < 4_500, spread::toString);
        assertEquals(16_500, spread.getAverage(), 500);
    }

    private LongSummaryStatistics spread(int failures) {
        return LongStream.range(0, 5_000)
                .map(i -> pauses.after(failures, random).toMillis())
                .summaryStatistics();
    }
}
