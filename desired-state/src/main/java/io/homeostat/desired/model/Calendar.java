package io.homeostat.desired.model;

import com.cronutils.model.Cron;
import com.cronutils.model.CronType;
import com.cronutils.model.definition.CronDefinition;
import com.cronutils.model.definition.CronDefinitionBuilder;
import com.cronutils.model.time.ExecutionTime;
import com.cronutils.parser.CronParser;
import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.schema.Fields.Default;
import io.homeostat.desired.model.schema.Fields.Doc;
import io.homeostat.desired.model.schema.Fields.Matches;
import io.homeostat.desired.model.schema.Fields.Range;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.util.Optional;
import java.util.regex.Pattern;

/** Times by the clock and the calendar at which a one-shot runs. */
public record Calendar(
        @Doc(
                "Minute, hour, day of the month, month and day of the week, as in crontab(5): \"0 2 * * *\" is at two each night.")
        @Range(min = 1)
        String cron,

        @Doc("The time zone, such as Europe/Berlin.")
        @Default("UTC")
        @Matches(value = "[A-Za-z0-9_+/-]{1,64}", words = "the name of a time zone")
        String timezone) {

    private static final Pattern STARRED_DAY =
            Pattern.compile("\\s*\\S+\\s+\\S+\\s+(\\*.*|\\S+\\s+\\S+\\s+\\*.*)", Pattern.DOTALL);

    /**
     * The first time after this one. What falls into an hour that is skipped when clocks are put forward is an hour later; of an hour that
     * comes twice, a fixed time is its first, and what recurs within the day goes on recurring.
     *
     * @return empty when there is none, as of February 30
     * @throws IllegalArgumentException when the expression is none
     */
    public Optional<Instant> next(Instant after) {
        ExecutionTime times = ExecutionTime.forCron(parsed());
        ZoneId zone = ZoneId.of(timezone);
        ZonedDateTime from = after.atZone(zone);
        Optional<Instant> zoned = times.nextExecution(from).map(ZonedDateTime::toInstant);
        // The library drops skipped times. By a clock without a zone nothing is skipped, and a zone moves what it has
        // not.
        Optional<Instant> moved = times.nextExecution(from.toLocalDateTime().atZone(ZoneOffset.UTC))
                .map(ZonedDateTime::toLocalDateTime)
                .map((LocalDateTime local) -> local.atZone(zone).toInstant())
                .filter(at -> at.isAfter(after));
        return moved.filter(at -> zoned.isEmpty() || at.isBefore(zoned.get())).or(() -> zoned);
    }

    /** For people: {@code 0 2 * * * (Europe/Berlin)}. */
    @Override
    public String toString() {
        return cron + " (" + timezone + ")";
    }

    private Cron parsed() {
        CronDefinition unix = CronDefinitionBuilder.instanceDefinitionFor(CronType.UNIX);
        // Of two days either will do, unless one of them begins with a star: then it has to be both.
        CronDefinition definition = new CronDefinition(
                ImmutableList.copyOf(unix.getFieldDefinitions()),
                unix.getCronConstraints(),
                unix.getCronNicknames(),
                STARRED_DAY.matcher(cron).matches());
        return new CronParser(definition).parse(cron);
    }
}
