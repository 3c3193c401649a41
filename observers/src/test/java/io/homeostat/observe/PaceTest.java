package io.homeostat.observe;

import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import org.junit.jupiter.api.Test;

class PaceTest {
    private final Pace pace = new Pace();

    @Test
    void workTakesNoMoreThanAQuarterOfTheTime() {
        long start = System.nanoTime();
        for (int i = 0; i < 10; i++) {
            pace.await(Duration.ofMillis(50));
        }
        Duration waited = Duration.ofNanos(System.nanoTime() - start);
        // The last of the ten is waited for by nobody, and 250 ms of the other 450 may have been saved up.
        assertTrue(waited.compareTo(Duration.ofMillis(4 * 200 - 10)) >= 0, waited + "");
    }

    @Test
    void whatTookVeryLongIsNotWaitedForAnyLonger() {
        assertTimeoutPreemptively(Duration.ofSeconds(60), () -> {
            for (int i = 0; i < 4; i++) {
                pace.await(Duration.ofDays(100));
            }
        });
    }
}
