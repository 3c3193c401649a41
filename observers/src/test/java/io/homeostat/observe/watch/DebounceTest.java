package io.homeostat.observe.watch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.observe.watch.FileChanges.Debounce;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class DebounceTest {
    private final Debounce debounce =
            new Debounce(Duration.ofMillis(100), Duration.ofSeconds(1), Duration.ofSeconds(5));

    @Test
    void nothingIsDueBeforeAChange() {
        assertTrue(debounce.untilDue(at(0)) > Duration.ofDays(365).toNanos());
    }

    @Test
    void aSingleChangeIsDueAfterTheQuiet() {
        debounce.changed(at(50));
        assertEquals(at(100), debounce.untilDue(at(50)));
        assertEquals(0, debounce.untilDue(at(150)));
    }

    @Test
    void eachChangeBeginsTheQuietAgain() {
        debounce.changed(at(0));
        debounce.changed(at(90));
        assertEquals(at(100), debounce.untilDue(at(90)));
    }

    @Test
    void changesWithoutEndAreDueAfterTheLongestDelay() {
        for (int i = 0; i < 100; i++) {
            debounce.changed(at(i * 10L));
        }
        assertEquals(at(10), debounce.untilDue(at(990)));
    }

    @Test
    void whatWasReportedIsOver() {
        debounce.changed(at(0));
        debounce.reported(at(0));
        assertTrue(debounce.untilDue(at(5000)) > Duration.ofDays(365).toNanos());
        debounce.changed(at(6000));
        assertEquals(at(100), debounce.untilDue(at(6000)));
    }

    @Test
    void whatIsCompleteIsDueAtOnce() {
        debounce.arrived(at(50));
        assertTrue(debounce.untilDue(at(50)) <= 0);
    }

    @Test
    void whatIsCompleteWaitsForWhatIsNot() {
        debounce.changed(at(0));
        debounce.arrived(at(50));
        assertEquals(at(100), debounce.untilDue(at(50)));
    }

    @Test
    void whatIsCompleteSoonAfterAReportMayBeOneOfMany() {
        debounce.arrived(at(0));
        debounce.reported(at(0));
        debounce.arrived(at(4999));
        assertEquals(at(100), debounce.untilDue(at(4999)));
        debounce.reported(at(5100));
        debounce.arrived(at(10_100));
        assertTrue(debounce.untilDue(at(10_100)) <= 0);
    }

    private static long at(long milliseconds) {
        return Duration.ofMillis(milliseconds).toNanos();
    }
}
