package io.homeostat.desired.model;

import com.google.common.hash.Hashing;
import java.nio.charset.StandardCharsets;

/**
 * Names and revisions where the system, or whoever reads them, bears no long ones: in environment variables, labels, fields of the
 * journal. What a message carries may have a million characters.
 */
public final class BriefText {
    /** In characters. */
    public static final int LONGEST = 256;

    private static final int HASH_DIGITS = 16;

    private BriefText() {}

    /** The text itself, or its beginning, dots and a hash: two texts have two brief forms. */
    public static String of(String text) {
        if (text.length() <= LONGEST) {
            return text;
        }
        String end = "..."
                + Hashing.sha256()
                        .hashString(text, StandardCharsets.UTF_8)
                        .toString()
                        .substring(0, HASH_DIGITS);
        return VisibleText.beginning(text, LONGEST - end.length()) + end;
    }
}
