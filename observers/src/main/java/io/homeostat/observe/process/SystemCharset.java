package io.homeostat.observe.process;

import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.util.Optional;

/**
 * The charset in which the JVM hands arguments, variables and file names to the system: that of its locale, with '?' for what it
 * lacks. bin/homeostat therefore starts it in a locale of UTF-8.
 */
public final class SystemCharset {
    private static final Charset SYSTEM =
            Charset.forName(System.getProperty("sun.jnu.encoding"), StandardCharsets.US_ASCII);

    private SystemCharset() {}

    public static Charset get() {
        return SYSTEM;
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
