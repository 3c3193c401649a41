package io.homeostat.observe;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Time goes by only in pieces of work and while one is waited for. */
class PaceTest {
    private long nanos = Long.MAX_VALUE - 1;
    private Duration waited = Duration.ZERO;
    private final Pace pace = new Pace(() -> nanos, pause -> {
        waited = pause;
        nanos += pause.toNanos();
    });

    /** Works that long, and returns how long it had to wait before. */
    private Duration work(int millis) {
        waited = Duration.ZERO;
        pace.begin();
        nanos += Duration.ofMillis(millis).toNanos();
        pace.end();
        return waited;
    }

    private List<Integer> waits(int pieces, int millis) {
        return Stream.generate(() -> (int) work(millis).toMillis())
                .limit(pieces)
                .toList();
    }

    @Test
    void someInARowWaitForNothingAndThenWorkTakesAQuarterOfTheTime() {
        assertEquals(List.of(0, 0, 0, 0, 200, 300, 300), waits(7, 100));
    }

    @Test
    void quietIsSavedForASecond() {
        waits(7, 100);
        nanos += Duration.ofHours(1).toNanos();
        assertEquals(List.of(0, 0, 0, 0, 200, 300), waits(6, 100));
    }

    @Test
    void whatTakesLongIsNotWaitedForEverLonger() {
        assertEquals(List.of(0, 0, 0), waits(3, 60_000));
        assertEquals(List.of(0, 0, 200, 600, 600), waits(5, 400));
    }
}
