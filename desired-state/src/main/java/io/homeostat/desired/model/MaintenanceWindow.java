package io.homeostat.desired.model;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.schema.Fields.Default;
import io.homeostat.desired.model.schema.Fields.Doc;
import io.homeostat.desired.model.schema.Fields.Matches;
import io.homeostat.desired.model.schema.Fields.Range;
import java.time.DayOfWeek;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalTime;
import java.time.ZoneId;
import java.time.ZonedDateTime;
import java.util.Locale;
import java.util.Optional;

/** When what runs well may be changed or replaced. Starts, repairs and removals don't wait for it. */
public record MaintenanceWindow(
        @Doc("When it opens, by the clock of the time zone.")
        @Matches(value = "([01][0-9]|2[0-3]):[0-5][0-9]", words = "a time from \"00:00\" to \"23:59\", in quotes")
        String start,

        @Doc("How long it stays open; may go past midnight.") @Range(min = 1000)
        Duration duration,

        @Doc("On which days it opens.")
        @Default("[mon, tue, wed, thu, fri, sat, sun]")
        @Range(min = 1)
        @Matches(value = "mon|tue|wed|thu|fri|sat|sun", words = "mon, tue, wed, thu, fri, sat or sun")
        ImmutableList<String> days,

        @Doc("The time zone, such as Europe/Berlin.")
        @Default("UTC")
        @Matches(value = "[A-Za-z0-9_+/-]{1,64}", words = "the name of a time zone")
        String timezone) {
    private static final int DAYS_OF_A_WEEK = 7;

    /**
     * When it next opens; empty while it is open. It stays open for its duration even if clocks change meanwhile; a start that falls into
     * skipped time is an hour later.
     */
    public Optional<Instant> opensAfter(Instant now) {
        ZoneId zone = ZoneId.of(timezone);
        LocalTime time = LocalTime.parse(start);
        LocalDate today = now.atZone(zone).toLocalDate();
        Instant next = Instant.MAX;
        for (int day = -DAYS_OF_A_WEEK; day <= DAYS_OF_A_WEEK; day++) {
            LocalDate date = today.plusDays(day);
            if (!days.contains(day(date.getDayOfWeek()))) {
                continue;
            }
            Instant opens = ZonedDateTime.of(date, time, zone).toInstant();
            if (!now.isBefore(opens) && now.isBefore(opens.plus(duration))) {
                return Optional.empty();
            }
            if (opens.isAfter(now) && opens.isBefore(next)) {
                next = opens;
            }
        }
        return Optional.of(next);
    }

    private static String day(DayOfWeek day) {
        return day.name().substring(0, 3).toLowerCase(Locale.ROOT);
    }
}
