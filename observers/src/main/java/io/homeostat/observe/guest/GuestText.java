package io.homeostat.observe.guest;

/** Words of a guest, which may say anything, for terminals and logs of the host. */
public final class GuestText {
    private static final int LONGEST = 1000;

    private GuestText() {}

    /** On one line, without characters that do something to a terminal, and not endless. */
    public static String of(String text) {
        String line = text.replaceAll("[\\p{Cntrl}\\p{Cf}\u2028\u2029]", "?");
        return line.length() <= LONGEST ? line : line.substring(0, LONGEST) + "...";
    }
}
