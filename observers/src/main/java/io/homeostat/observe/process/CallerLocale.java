package io.homeostat.observe.process;

import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Optional;

/**
 * The locale we were called in and the one we run in. The JVM encodes arguments, variables and file names in the charset of its locale,
 * with '?' for what that lacks, so bin/homeostat starts it in a UTF-8 locale and saves the caller's for the programs that we start.
 */
public final class CallerLocale {
    /** Set by bin/homeostat: {@code =VALUE} of the caller's LC_ALL, empty when it was unset. */
    static final String SAVED = "HOMEOSTAT_CALLER_LC_ALL";

    private static final Charset SYSTEM =
            Charset.forName(System.getProperty("sun.jnu.encoding"), StandardCharsets.US_ASCII);

    private CallerLocale() {}

    /** Restores the caller's LC_ALL in an environment that was inherited from us. */
    public static void restore(Map<String, String> environment) {
        String saved = environment.remove(SAVED);
        if (saved == null) {
            return;
        }
        if (saved.startsWith("=")) {
            environment.put("LC_ALL", saved.substring(1));
        } else {
            environment.remove("LC_ALL");
        }
    }

    /** What is wrong with a text that would not reach the system unchanged; begins with a verb. */
    public static Optional<String> problem(String text) {
        if (SYSTEM.newEncoder().canEncode(text)) {
            return Optional.empty();
        }
        return Optional.of("has characters that can't be passed on in this locale, whose encoding is " + SYSTEM
                + "; start Homeostat in a locale of UTF-8, such as LC_ALL=C.UTF-8");
    }
}
