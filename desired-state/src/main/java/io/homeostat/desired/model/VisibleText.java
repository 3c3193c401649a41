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

    /** The text on one line: with a space for each line end or tab, and a question mark for each other character that is not visible. */
    public static String line(String text) {
        StringBuilder shown = new StringBuilder(text.length());
        text.codePoints().forEach(c -> shown.appendCodePoint(isVisible(c) ? c : isBlank(c) ? ' ' : '?'));
        return shown.toString();
    }

    private static boolean isBlank(int c) {
        return c == '\n' || c == '\r' || c == '\t';
    }

    /** The text, or its beginning and three dots, which have at most so many characters together. */
    public static String cut(String text, int longest) {
        return text.length() <= longest ? text : beginning(text, longest - 3) + "...";
    }

    /** So many characters of a longer text, or one less where that is half of a pair. */
    static String beginning(String text, int length) {
        return text.substring(0, Character.isHighSurrogate(text.charAt(length - 1)) ? length - 1 : length);
    }

    /** The text with a question mark for each character that is not visible; its lines and tabs stay. */
    public static String lines(String text) {
        StringBuilder shown = new StringBuilder(text.length());
        text.codePoints().forEach(c -> shown.appendCodePoint(c == '\n' || c == '\t' || isVisible(c) ? c : '?'));
        return shown.toString();
    }
}
