package io.homeostat.reconcile.agent.log;

import io.homeostat.desired.model.Redaction;

/** Makes what is logged harmless: no secret of a URL, nothing that a terminal obeys, no line that somebody else made up, no end of it. */
public final class LogText {
    static final int LONGEST = 16 << 10;

    private LogText() {}

    /** Without secrets and of bounded length. */
    static String bounded(String text) {
        String shown = Redaction.text(text.length() > 2 * LONGEST ? text.substring(0, 2 * LONGEST) : text);
        return shown.length() <= LONGEST
                ? shown
                : shown.substring(0, LONGEST) + "... (" + (text.length() - LONGEST) + " characters more)";
    }

    /** With everything that isn't visible written as in Java's source text. */
    public static String escaped(String text) {
        StringBuilder line = new StringBuilder(text.length());
        text.codePoints().forEach(c -> {
            switch (c) {
                case '\n' -> line.append("\\n");
                case '\r' -> line.append("\\r");
                case '\t' -> line.append("\\t");
                default -> {
                    if (isVisible(c)) {
                        line.appendCodePoint(c);
                    } else {
                        line.append(String.format("\\u%04x", c));
                    }
                }
            }
        });
        return line.toString();
    }

    private static boolean isVisible(int c) {
        return switch (Character.getType(c)) {
            case Character.CONTROL,
                    Character.FORMAT,
                    Character.LINE_SEPARATOR,
                    Character.PARAGRAPH_SEPARATOR,
                    Character.SURROGATE -> false;
            default -> true;
        };
    }
}
