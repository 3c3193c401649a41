package io.homeostat.reconcile.command.output;

/** Makes a text that others wrote fit for one line of a terminal: no line ends, nothing that a terminal obeys. */
public final class OneLine {
    private OneLine() {}

    public static String of(String text) {
        StringBuilder line = new StringBuilder(text.length());
        text.strip().codePoints().forEach(c -> {
            if (c == '\n' || c == '\r' || c == '\t') {
                line.append(' ');
            } else if (Character.isISOControl(c) || Character.getType(c) == Character.FORMAT) {
                line.append('?');
            } else {
                line.appendCodePoint(c);
            }
        });
        return line.toString();
    }
}
