package io.homeostat.reconcile.command.output;

import io.homeostat.desired.model.VisibleText;
import io.homeostat.desired.model.WorkloadId;
import java.time.Duration;
import java.util.Locale;
import java.util.SortedSet;
import java.util.stream.Collectors;

/** Texts for people that are written in many places in the same way. */
public final class Text {
    private static final int SECONDS = 60;
    private static final int HOURS = 24;
    private static final String[] UNITS = {"KiB", "MiB", "GiB", "TiB"};
    private static final int STEP = 1024;
    private static final int NAMED = 20;

    private Text() {}

    /** Makes a text that others wrote fit for one line of a terminal: no line ends, nothing that a terminal obeys. */
    public static String oneLine(String text) {
        StringBuilder line = new StringBuilder(text.length());
        text.strip().codePoints().forEach(c -> {
            if (c == '\n' || c == '\r' || c == '\t') {
                line.append(' ');
            } else {
                line.appendCodePoint(VisibleText.isVisible(c) ? c : '?');
            }
        });
        return line.toString();
    }

    /** The same with the spaces and tabs that it begins with, as spaces. */
    public static String printable(String line) {
        String rest = line.stripLeading();
        return line.substring(0, line.length() - rest.length()).replace('\t', ' ') + oneLine(rest);
    }

    /** "45s", "3m20s", "5h12m", "3d4h"; a negative one, which a changed clock makes, is none. */
    public static String duration(Duration span) {
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

    public static String ago(Duration span) {
        return duration(span) + " ago";
    }

    /** "12.3 MiB". */
    public static String bytes(long bytes) {
        if (bytes < STEP) {
            return bytes + " B";
        }
        double amount = bytes;
        int unit = -1;
        while (amount >= STEP && unit < UNITS.length - 1) {
            amount /= STEP;
            unit++;
        }
        return String.format(Locale.ROOT, "%.1f %s", amount, UNITS[unit]);
    }

    /** "declared are: plugin/a, process/b". */
    public static String declared(SortedSet<WorkloadId> declared) {
        if (declared.isEmpty()) {
            return "nothing is declared here";
        }
        String names = declared.stream().limit(NAMED).map(WorkloadId::toString).collect(Collectors.joining(", "));
        return "declared are: " + names
                + (declared.size() > NAMED ? " and " + (declared.size() - NAMED) + " more" : "");
    }
}
