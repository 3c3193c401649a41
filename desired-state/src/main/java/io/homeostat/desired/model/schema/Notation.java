package io.homeostat.desired.model.schema;

import java.time.Duration;
import java.util.Optional;

/** How durations, sizes and shares of a processor are written in documents and on the command line. */
public final class Notation {
    /** {@code 500ms 10s 5m 1h30m}: units in this order, each at most once, at least one. */
    public static final String DURATION = "(?=.)(?:[0-9]{1,9}h)?(?:[0-9]{1,9}m)?(?:[0-9]{1,9}s)?(?:[0-9]{1,9}ms)?";

    /** {@code 64Mi 1Gi}, or bytes without a unit. */
    public static final String SIZE = "[0-9]{1,19}|[0-9]{1,15}Ki|[0-9]{1,12}Mi|[0-9]{1,9}Gi|[0-9]{1,6}Ti";

    /** {@code 20%}. */
    public static final String CPU = "[0-9]{1,9}%";

    /** {@code 3}, {@code 25%}. */
    public static final String PORTION = "0*(?:100|[0-9]{1,2})%|[0-9]{1,9}";

    private static final String[] DURATION_UNITS = {"h", "m", "s", "ms"};
    private static final long[] DURATION_MILLIS = {3_600_000, 60_000, 1000, 1};
    private static final int DURATION_DIGITS = 9;

    private static final String[] SIZE_UNITS = {"Ti", "Gi", "Mi", "Ki"};
    private static final int[] SIZE_SHIFTS = {40, 30, 20, 10};

    private Notation() {}

    /** The duration that is written so; empty when it isn't one. */
    public static Optional<Duration> duration(String text) {
        long millis = 0;
        int unit = 0;
        int at = 0;
        while (at < text.length()) {
            int end = endOfDigits(text, at);
            if (end == at || end - at > DURATION_DIGITS) {
                return Optional.empty();
            }
            int endOfUnit = end;
            while (endOfUnit < text.length() && !isDigit(text.charAt(endOfUnit))) {
                endOfUnit++;
            }
            while (unit < DURATION_UNITS.length && !matches(text, end, endOfUnit, DURATION_UNITS[unit])) {
                unit++;
            }
            if (unit == DURATION_UNITS.length) {
                return Optional.empty();
            }
            millis += Long.parseLong(text, at, end, 10) * DURATION_MILLIS[unit++];
            at = endOfUnit;
        }
        return text.isEmpty() ? Optional.empty() : Optional.of(Duration.ofMillis(millis));
    }

    /** Writes a duration so that {@link #duration} reads it. What is finer than a millisecond is rounded up, never to nothing. */
    public static String text(Duration duration) {
        if (duration.isNegative()) {
            throw new IllegalArgumentException("a negative duration has no notation: " + duration);
        }
        long rest = duration.plusNanos(999_999).toMillis();
        if (rest == 0) {
            return "0s";
        }
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < DURATION_UNITS.length; i++) {
            long count = rest / DURATION_MILLIS[i];
            rest -= count * DURATION_MILLIS[i];
            if (count > 0) {
                text.append(count).append(DURATION_UNITS[i]);
            }
        }
        return text.toString();
    }

    /** The size that is written so; empty when it isn't one or beyond {@link Long#MAX_VALUE} bytes. */
    public static Optional<Size> size(String text) {
        int end = endOfDigits(text, 0);
        int shift = shiftOf(text, end);
        if (end == 0 || end > 19 || shift < 0) {
            return Optional.empty();
        }
        try {
            return Optional.of(new Size(Math.multiplyExact(Long.parseLong(text, 0, end, 10), 1L << shift)));
        } catch (NumberFormatException | ArithmeticException tooBig) {
            return Optional.empty();
        }
    }

    /** Writes a size with the largest unit that loses nothing. */
    public static String text(Size size) {
        long bytes = size.bytes();
        for (int i = 0; i < SIZE_UNITS.length && bytes != 0; i++) {
            if (bytes % (1L << SIZE_SHIFTS[i]) == 0) {
                return (bytes >> SIZE_SHIFTS[i]) + SIZE_UNITS[i];
            }
        }
        return Long.toString(bytes);
    }

    /** The share of a processor that is written so; empty when it isn't one or is none at all. */
    public static Optional<Cpu> cpu(String text) {
        int end = endOfDigits(text, 0);
        if (end == 0 || end > 9 || !matches(text, end, text.length(), "%")) {
            return Optional.empty();
        }
        int percent = Integer.parseInt(text, 0, end, 10);
        return percent == 0 ? Optional.empty() : Optional.of(new Cpu(percent));
    }

    /** Writes a share of a processor. */
    public static String text(Cpu cpu) {
        return cpu.percentOfOneCore() + "%";
    }

    /** The portion that is written so; empty when it isn't one. */
    public static Optional<Portion> portion(String text) {
        if (!text.matches(PORTION)) {
            return Optional.empty();
        }
        boolean percent = text.endsWith("%");
        return Optional.of(new Portion(
                Integer.parseInt(percent ? text.substring(0, text.length() - 1) : text), percent));
    }

    private static int shiftOf(String text, int from) {
        if (from == text.length()) {
            return 0;
        }
        for (int i = 0; i < SIZE_UNITS.length; i++) {
            if (matches(text, from, text.length(), SIZE_UNITS[i])) {
                return SIZE_SHIFTS[i];
            }
        }
        return -1;
    }

    private static boolean matches(String text, int from, int to, String word) {
        return to - from == word.length() && text.startsWith(word, from);
    }

    private static int endOfDigits(String text, int from) {
        int end = from;
        while (end < text.length() && isDigit(text.charAt(end))) {
            end++;
        }
        return end;
    }

    private static boolean isDigit(char c) {
        return c >= '0' && c <= '9';
    }
}
