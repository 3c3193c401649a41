package io.homeostat.reconcile.command.output;

/** Colours of a terminal, or none. */
public record Ansi(boolean coloured) {
    public enum Colour {
        GREEN("\u001b[32m"),
        YELLOW("\u001b[33m"),
        MAGENTA("\u001b[35m"),
        RED("\u001b[31m"),
        FAINT("\u001b[2m"),
        BOLD("\u001b[1m");

        private final String code;

        Colour(String code) {
            this.code = code;
        }
    }

    private static final String RESET = "\u001b[0m";

    public String paint(Colour colour, String text) {
        return coloured && !text.isEmpty() ? colour.code + text + RESET : text;
    }
}
