package io.homeostat.reconcile.plan;

import com.google.common.hash.Hashing;
import io.homeostat.desired.state.EventType;
import java.nio.charset.StandardCharsets;
import java.util.regex.Pattern;

/** Which failures have the same cause: those that say the same, whatever time they took and whichever process or port it was. */
final class Sameness {
    /** Not exit statuses, signals and status codes of HTTP: these are causes. */
    private static final Pattern INCIDENTAL = Pattern.compile("\\d+\\.\\d+|\\d{4,}");

    private static final int DIGITS = 16;

    private Sameness() {}

    static String of(EventType type, String revision, String message) {
        String cause = INCIDENTAL.matcher(message).replaceAll("#");
        return Hashing.sha256()
                .hashString(type + " " + revision + " " + cause, StandardCharsets.UTF_8)
                .toString()
                .substring(0, DIGITS);
    }
}
