package io.homeostat.desired.channel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.Random;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class TimingTest {
    @Test
    void streamsThatBeganAtOnceEndWithinFiveMinutesOfEachOtherAndNoneLastsLongerThanAnHour() {
        Random random = new Random(1);
        Set<Long> minutes = Stream.generate(() -> Timing.DEFAULT.lifetime(random))
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
}
