package io.homeostat.desired.channel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.LongSummaryStatistics;
import java.util.Random;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class ChannelTimingTest {
    @Test
    void streamsThatBeganAtOnceEndWithinFiveMinutesOfEachOtherAndNoneLastsLongerThanAnHour() {
        Random random = new Random(1);
        Set<Long> minutes = Stream.generate(() -> ChannelTiming.DEFAULT.lifetime(random))
                .limit(10_000)
                .peek(one -> assertTrue(one.compareTo(Duration.ofMinutes(55)) >= 0, one::toString))
                .peek(one -> assertTrue(one.compareTo(Duration.ofMinutes(60)) <= 0, one::toString))
                .map(Duration::toMinutes)
                .collect(Collectors.toSet());

        assertTrue(minutes.containsAll(Set.of(55L, 56L, 57L, 58L, 59L)), minutes::toString);
    }

    @Test
    void aStreamThatLastsForAMillisecondHasNoJitter() {
        assertEquals(
                Duration.ofMillis(1),
                ChannelBench.renewingAfter(Duration.ofMillis(1)).lifetime(new Random(1)));
    }

    @Test
    void theDelayDoublesUpToHalfAMinute() {
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

    private static LongSummaryStatistics spread(int failures) {
        Random random = new Random(1);
        StreamOutcome end = new StreamOutcome.Failed(StreamOutcome.Cause.DISCONNECTED, "");
        return LongStream.range(0, 5_000)
                .map(i -> ChannelTiming.DEFAULT.delay(end, failures, random).toMillis())
                .summaryStatistics();
    }
}
