package io.homeostat.desired.model;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class CalendarTest {
    private static final String BERLIN = "Europe/Berlin";

    @Test
    void timesAreThoseOfTheTimeZone() {
        assertEquals(
                List.of("2026-07-01T00:00:00Z", "2026-07-02T00:00:00Z"),
                times("0 2 * * *", BERLIN, "2026-06-30T12:00:00Z", 2));
        assertEquals(List.of("2026-07-01T02:00:00Z"), times("0 2 * * *", "UTC", "2026-06-30T12:00:00Z", 1));
    }

    @Test
    void whatFallsIntoASkippedHourIsAnHourLaterOnThatDay() {
        assertEquals(
                List.of("2026-03-28T01:30:00Z", "2026-03-29T01:30:00Z", "2026-03-30T00:30:00Z"),
                times("30 2 * * *", BERLIN, "2026-03-27T12:00:00Z", 3));
    }

    @Test
    void ofAnHourThatComesTwiceAFixedTimeIsTheFirst() {
        assertEquals(
                List.of("2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"),
                times("30 2 * * *", BERLIN, "2026-10-24T12:00:00Z", 2));
    }

    @Test
    void whatComesEachHourComesEachHourWhenClocksChange() {
        assertEquals(
                List.of("2026-10-25T00:00:00Z", "2026-10-25T01:00:00Z", "2026-10-25T02:00:00Z"),
                times("0 * * * *", BERLIN, "2026-10-24T23:30:00Z", 3));
        assertEquals(
                List.of("2026-03-29T00:00:00Z", "2026-03-29T01:00:00Z", "2026-03-29T02:00:00Z"),
                times("0 * * * *", BERLIN, "2026-03-28T23:30:00Z", 3));
    }

    @Test
    void ofTwoDaysEitherWillDo() {
        assertEquals(
                List.of("2026-06-05T02:00:00Z", "2026-06-10T02:00:00Z", "2026-06-12T02:00:00Z"),
                times("0 2 10 * fri", "UTC", "2026-06-01T00:00:00Z", 3));
    }

    @Test
    void unlessOneOfThemBeginsWithAStarWhichIsNoRestriction() {
        // Mondays that are the 1st, 11th, 21st or 31st.
        assertEquals(
                List.of("2026-06-01T02:00:00Z", "2026-08-31T02:00:00Z", "2026-09-21T02:00:00Z"),
                times("0 2 */10 * mon", "UTC", "2026-05-31T00:00:00Z", 3));
        // The 10th, if it is a Sunday, Tuesday, Thursday or Saturday.
        assertEquals(
                List.of("2026-09-10T02:00:00Z", "2026-10-10T02:00:00Z", "2026-11-10T02:00:00Z"),
                times(" 0  2 10 * */2 ", "UTC", "2026-06-30T00:00:00Z", 3));
        assertEquals(
                List.of("2026-06-01T02:00:00Z", "2026-06-08T02:00:00Z"),
                times("0 2 * * mon", "UTC", "2026-05-31T00:00:00Z", 2));
    }

    @Test
    void aDateThatDoesNotExistNeverComes() {
        assertEquals(Optional.empty(), new Calendar("0 0 30 2 *", "UTC").next(Instant.EPOCH));
        assertEquals(List.of("2028-02-29T00:00:00Z"), times("0 0 29 2 *", "UTC", "2026-01-01T00:00:00Z", 1));
    }

    private static List<String> times(String cron, String timezone, String after, int count) {
        Calendar calendar = new Calendar(cron, timezone);
        List<String> times = new ArrayList<>();
        Instant last = Instant.parse(after);
        for (int i = 0; i < count; i++) {
            last = calendar.next(last).orElseThrow();
            times.add(last.toString());
        }
        return times;
    }
}
