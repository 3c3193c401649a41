package io.homeostat.reconcile.command.doctor;

import java.util.Locale;

/**
 * What one check found.
 *
 * @param check what was looked at, in a word or two; always the same one
 * @param message what there is
 * @param remedy what to do about it; empty when all is well
 */
public record Finding(String check, Level level, String message, String remedy) {

    /** How good it is. */
    public enum Level {
        OK,
        /** Something works less well, or not for everybody. */
        WARN,
        /** Something that is needed does not work. */
        FAIL;

        /** As shown. */
        public String word() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    static Finding ok(String check, String message) {
        return new Finding(check, Level.OK, message, "");
    }

    static Finding warn(String check, String message, String remedy) {
        return new Finding(check, Level.WARN, message, remedy);
    }

    static Finding fail(String check, String message, String remedy) {
        return new Finding(check, Level.FAIL, message, remedy);
    }
}
