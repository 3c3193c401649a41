package io.homeostat.desired.model;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.common.collect.ImmutableList;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** 21 November 2026 is a Saturday; clocks in Berlin go forward on 28 March 2027 and back on 31 October 2027. */
class MaintenanceWindowTest {
    private static final ImmutableList<String> EVERY_DAY =
            ImmutableList.of("mon", "tue", "wed", "thu", "fri", "sat", "sun");

    @Test
    void itIsOpenFromItsStartAndClosedAtItsEnd() {
        MaintenanceWindow window = new MaintenanceWindow("02:00", Duration.ofHours(2), EVERY_DAY, "UTC");

        assertOpens("2026-11-21T01:59:59Z", window, "2026-11-21T02:00:00Z");
        assertOpen("2026-11-21T02:00:00Z", window);
        assertOpen("2026-11-21T03:59:59Z", window);
        assertOpens("2026-11-21T04:00:00Z", window, "2026-11-22T02:00:00Z");
    }

    @Test
    void itGoesOnPastMidnightIntoADayOnWhichItDoesNotOpen() {
        MaintenanceWindow window = new MaintenanceWindow("23:00", Duration.ofHours(3), ImmutableList.of("sat"), "UTC");

        assertOpen("2026-11-22T01:59:59Z", window);
        assertOpens("2026-11-22T02:00:00Z", window, "2026-11-28T23:00:00Z");
        assertOpens("2026-11-22T23:30:00Z", window, "2026-11-28T23:00:00Z");
    }

    @Test
    void oneThatIsLongerThanADayIsOpenForAllOfThem() {
        MaintenanceWindow window = new MaintenanceWindow("00:00", Duration.ofDays(2), ImmutableList.of("sat"), "UTC");

        assertOpen("2026-11-22T23:59:59Z", window);
        assertOpens("2026-11-23T00:00:00Z", window, "2026-11-28T00:00:00Z");
    }

    @Test
    void itGoesByTheClockOfItsTimeZone() {
        MaintenanceWindow window = new MaintenanceWindow("02:30", Duration.ofHours(1), EVERY_DAY, "Europe/Berlin");

        assertOpens("2026-11-21T01:00:00Z", window, "2026-11-21T01:30:00Z");
        assertOpens("2027-07-01T00:00:00Z", window, "2027-07-01T00:30:00Z");
    }

    @Test
    void whenClocksAreSetItStaysOpenAsLongAsItSays() {
        MaintenanceWindow window = new MaintenanceWindow("01:30", Duration.ofHours(2), EVERY_DAY, "Europe/Berlin");

        assertOpen("2027-03-28T02:29:59Z", window);
        assertOpens("2027-03-28T02:30:00Z", window, "2027-03-28T23:30:00Z");
        assertOpen("2027-10-31T01:29:59Z", window);
        assertOpens("2027-10-31T01:30:00Z", window, "2027-11-01T00:30:00Z");
    }

    @Test
    void aStartThatTheClockLeavesOutIsAnHourLater() {
        MaintenanceWindow window = new MaintenanceWindow("02:30", Duration.ofHours(1), EVERY_DAY, "Europe/Berlin");

        assertOpens("2027-03-28T01:00:00Z", window, "2027-03-28T01:30:00Z");
        assertOpen("2027-03-28T01:30:00Z", window);
    }

    private static void assertOpen(String now, MaintenanceWindow window) {
        assertEquals(Optional.empty(), window.opensAfter(Instant.parse(now)));
    }

    private static void assertOpens(String now, MaintenanceWindow window, String opening) {
        assertEquals(Optional.of(Instant.parse(opening)), window.opensAfter(Instant.parse(now)));
    }
}
