package io.homeostat.reconcile.agent.fleet;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

class ReportPaceTest {
    private static final Duration INTERVAL = Duration.ofSeconds(10);
    private static final Instant AT = Instant.parse("2026-11-28T12:00:00Z");

    private static ReportPace pace(long seed) {
        return new ReportPace(INTERVAL, new Random(seed));
    }

    @Test
    void nothingIsDueUntilSomethingChanges() {
        ReportPace pace = pace(1);
        assertEquals(Optional.empty(), pace.due(AT));
        pace.changed(AT);
        assertTrue(pace.due(AT).isPresent());
        pace.sent(AT);
        assertEquals(Optional.empty(), pace.due(AT));
    }

    @Test
    void whatChangesBeforeTheReportIsPartOfIt() {
        ReportPace pace = pace(2);
        pace.changed(AT);
        Optional<Instant> due = pace.due(AT);
        pace.changed(AT.plusSeconds(1));
        assertEquals(due, pace.due(AT));
    }

    @Test
    void betweenTwoReportsThereIsAnInterval() {
        for (long seed = 0; seed < 100; seed++) {
            ReportPace pace = pace(seed);
            pace.sent(AT);
            pace.changed(AT.plusSeconds(2));
            Instant due = pace.due(AT).orElseThrow();
            assertFalse(due.isBefore(AT.plus(INTERVAL)), due::toString);
            assertFalse(due.isAfter(AT.plusSeconds(12)), due::toString);
        }
    }

    @Test
    void machinesThatChangeTogetherReportOneAfterTheOther() {
        TreeMap<Long, Integer> perSecond = new TreeMap<>();
        for (long seed = 0; seed < 10_000; seed++) {
            ReportPace pace = pace(seed * 7919);
            pace.changed(AT);
            perSecond.merge(Duration.between(AT, pace.due(AT).orElseThrow()).toSeconds(), 1, Integer::sum);
        }
        assertTrue(perSecond.lastKey() <= 10, perSecond::toString);
        perSecond.forEach((second, reports) -> assertTrue(reports <= 1200, perSecond::toString));
    }

    @Test
    void aClockThatIsSetBackDelaysNoReport() {
        ReportPace pace = pace(3);
        pace.sent(AT.plus(Duration.ofDays(1)));
        pace.changed(AT);
        assertFalse(pace.due(AT).orElseThrow().isAfter(AT.plus(INTERVAL)));
    }

    @Test
    void whatIsDueIsNotPutOffByAClockThatIsSetBack() {
        ReportPace pace = pace(4);
        pace.changed(AT.plus(Duration.ofHours(3)));
        assertFalse(pace.due(AT).orElseThrow().isAfter(AT.plus(INTERVAL)));
    }
}
