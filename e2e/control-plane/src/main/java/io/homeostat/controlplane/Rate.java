package io.homeostat.controlplane;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.ToLongFunction;

/** Checks what came over one stream against a limit that its headers told. */
public final class Rate {
    private static final double NANOS_PER_MINUTE = Duration.ofMinutes(1).toNanos();

    private Rate() {}

    /**
     * Message bodies a minute.
     *
     * @param burst how many may come at once after a pause
     * @return where it was exceeded; empty when it was kept
     */
    public static Optional<String> messagesAbove(List<Entry> entries, int connection, int perMinute, int burst) {
        return above(bodies(entries, connection), perMinute, burst, heard -> 1);
    }

    /**
     * Bytes of message bodies a minute.
     *
     * @param burst how many may come at once after a pause
     * @return where it was exceeded; empty when it was kept
     */
    public static Optional<String> bytesAbove(List<Entry> entries, int connection, int perMinute, int burst) {
        return above(
                bodies(entries, connection),
                perMinute,
                burst,
                heard -> heard.message().getSerializedSize());
    }

    private static List<Entry.Heard> bodies(List<Entry> entries, int connection) {
        return entries.stream()
                .filter(Entry.Heard.class::isInstance)
                .map(Entry.Heard.class::cast)
                .filter(heard ->
                        heard.connection() == connection && heard.message().hasMessageBody())
                .toList();
    }

    /** A bucket that holds the burst and fills at the rate never runs empty. */
    private static Optional<String> above(
            List<Entry.Heard> heard, int perMinute, int burst, ToLongFunction<Entry.Heard> weight) {
        double left = burst;
        Duration last = Duration.ZERO;
        for (Entry.Heard next : heard) {
            double gained = next.at().minus(last).toNanos() / NANOS_PER_MINUTE * perMinute;
            left = Math.min(burst, left + gained) - weight.applyAsLong(next);
            last = next.at();
            if (left < 0) {
                return Optional.of("more than " + perMinute + " a minute, and " + burst + " at once, at " + last);
            }
        }
        return Optional.empty();
    }
}
