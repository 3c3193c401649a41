package io.homeostat.reconcile.command.output;

import java.util.Locale;

/** Numbers of bytes for people. */
final class Bytes {
    private static final String[] UNITS = {"KiB", "MiB", "GiB", "TiB"};
    private static final int STEP = 1024;

    private Bytes() {}

    /** "12.3 MiB". */
    static String words(long bytes) {
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
}
