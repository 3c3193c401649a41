package io.homeostat.reconcile.plan;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.desired.model.WorkloadId;
import java.time.Duration;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class BackoffTest {
    private static final WorkloadId ID = WorkloadId.process("p");
    private final Backoff backoff = new Backoff(Duration.ZERO, Duration.ofSeconds(1), 2, Duration.ofMinutes(5));

    @Test
    void theFirstFailureHasTheInitialPauseExactly() {
        assertEquals(Duration.ZERO, backoff.after(1, ID, 1));
    }

    @Test
    void theBoundDoublesUpToTheCap() {
        assertEquals(Duration.ofSeconds(1), backoff.bound(2));
        assertEquals(Duration.ofSeconds(2), backoff.bound(3));
        assertEquals(Duration.ofSeconds(256), backoff.bound(10));
        assertEquals(Duration.ofMinutes(5), backoff.bound(11));
        assertEquals(Duration.ofMinutes(5), backoff.bound(1_000_000));
    }

    @Test
    void everyPauseIsWithinItsBoundAndNeverNone() {
        for (int failures = 2; failures < 30; failures++) {
            for (long seed = 0; seed < 50; seed++) {
                Duration pause = backoff.after(failures, ID, seed);
                assertTrue(pause.compareTo(Duration.ofMillis(100)) >= 0, pause.toString());
                assertTrue(pause.compareTo(backoff.bound(failures)) <= 0, pause.toString());
            }
        }
    }

    @Test
    void theJitterIsFull() {
        double mean = LongStream.range(0, 1000)
                .map(seed -> backoff.after(11, ID, seed).toSeconds())
                .average()
                .orElseThrow();

        assertTrue(mean > 130 && mean < 170, "full jitter up to 300 s has a mean near 150 s, not " + mean);
    }

    @Test
    void twoMachinesPauseDifferentlyAndOneMachineAlwaysTheSame() {
        assertNotEquals(backoff.after(9, ID, 1), backoff.after(9, ID, 2));
        assertEquals(backoff.after(9, ID, 1), backoff.after(9, ID, 1));
    }

    @Test
    void aCapBelowTheInitialPauseWins() {
        Backoff capped = new Backoff(Duration.ofSeconds(10), Duration.ofSeconds(10), 2, Duration.ofMillis(50));

        assertEquals(Duration.ofMillis(50), capped.after(1, ID, 1));
        assertEquals(Duration.ofMillis(50), capped.after(5, ID, 1));
    }
}
