package io.homeostat.observe.guest;

import io.homeostat.desired.model.VisibleText;

/** Words of a guest, which may say anything, for terminals and logs of the host. */
public final class GuestText {
    private static final int LONGEST = 1000;

    private GuestText() {}

    /** On one line, without characters that do something to a terminal, and not endless. */
    public static String of(String text) {
        // Of a long one only the beginning is looked at, which takes no time.
        return VisibleText.cut(VisibleText.line(text.substring(0, Math.min(text.length(), 2 * LONGEST))), LONGEST);
    }
}
