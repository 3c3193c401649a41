package io.homeostat.reconcile.command.output;

import java.time.Duration;

/** Spans of time for people, in at most two units. */
final class Spans {
    private static final int SECONDS = 60;
    private static final int HOURS = 24;

    private Spans() {}

    /** "45s", "3m20s", "5h12m", "3d4h"; a negative one, which a changed clock makes, is none. */
    static String words(Duration span) {
        long seconds = Math.max(0, span.toSeconds());
        if (seconds < SECONDS) {
            return seconds + "s";
        }
        long minutes = seconds / SECONDS;
        if (minutes < SECONDS) {
            return minutes + "m" + seconds % SECONDS + "s";
        }
        long hours = minutes / SECONDS;
        return hours < HOURS ? hours + "h" + minutes % SECONDS + "m" : hours / HOURS + "d" + hours % HOURS + "h";
    }

    static String ago(Duration span) {
        return words(span) + " ago";
    }
}
