package io.homeostat.desired.model;

/** Which characters of a text that others wrote may be shown to people: no terminal obeys them, and none hides or reorders others. */
public final class VisibleText {
    private VisibleText() {}

    /** False for controls, such as ESC, for what sets the direction of a text, for line ends other than LF too, and for halves of pairs. */
    public static boolean isVisible(int codePoint) {
        return switch (Character.getType(codePoint)) {
            case Character.CONTROL,
                    Character.FORMAT,
                    Character.LINE_SEPARATOR,
                    Character.PARAGRAPH_SEPARATOR,
                    Character.SURROGATE -> false;
            default -> true;
        };
    }

    /** The text with a question mark for each character that is not visible; its lines and tabs stay. */
    public static String lines(String text) {
        StringBuilder shown = new StringBuilder(text.length());
        text.codePoints().forEach(c -> shown.appendCodePoint(c == '\n' || c == '\t' || isVisible(c) ? c : '?'));
        return shown.toString();
    }
}
