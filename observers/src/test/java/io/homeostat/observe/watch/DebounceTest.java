package io.homeostat.observe.watch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.observe.watch.FileChanges.Debounce;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class DebounceTest {
    private final Debounce debounce = new Debounce(Duration.ofMillis(100), Duration.ofSeconds(1));

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
        debounce.reported();
        assertTrue(debounce.untilDue(at(5000)) > Duration.ofDays(365).toNanos());
        debounce.changed(at(6000));
        assertEquals(at(100), debounce.untilDue(at(6000)));
    }

    private static long at(long milliseconds) {
        return Duration.ofMillis(milliseconds).toNanos();
    }
}
