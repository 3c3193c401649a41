package io.homeostat.reconcile.command.start;

import com.google.common.collect.ImmutableList;

/** Splits what others write as one line into the words of a command. Nothing is expanded, no shell is asked. */
final class CommandWords {
    private final String text;
    private final boolean systemd;
    private final ImmutableList.Builder<String> words = ImmutableList.builder();
    private int at;

    private CommandWords(String text, boolean systemd) {
        this.text = text;
        this.systemd = systemd;
    }

    /**
     * As systemd.syntax(7) has it: both quotes alike, with escapes of C in them and outside.
     *
     * @throws IllegalArgumentException that says what is wrong
     */
    static ImmutableList<String> systemd(String text) {
        return new CommandWords(text, true).split();
    }

    /**
     * As a POSIX shell has it.
     *
     * @throws IllegalArgumentException that says what is wrong
     */
    static ImmutableList<String> shell(String text) {
        return new CommandWords(text, false).split();
    }

    private ImmutableList<String> split() {
        while (true) {
            while (at < text.length() && Character.isWhitespace(text.charAt(at))) {
                at++;
            }
            if (at == text.length()) {
                return words.build();
            }
            words.add(word());
        }
    }

    private String word() {
        StringBuilder word = new StringBuilder();
        char quote = 0;
        while (at < text.length()) {
            char c = text.charAt(at++);
            if (quote == 0 && Character.isWhitespace(c)) {
                return word.toString();
            }
            if (c == '\\' && (systemd || quote != '\'')) {
                escape(quote, word);
            } else if (quote == 0 && (c == '"' || c == '\'')) {
                quote = c;
            } else if (quote != 0 && c == quote) {
                quote = 0;
            } else {
                word.append(c);
            }
        }
        if (quote != 0) {
            throw new IllegalArgumentException("the quote " + quote + " is not closed");
        }
        return word.toString();
    }

    private void escape(char quote, StringBuilder word) {
        if (at == text.length()) {
            throw new IllegalArgumentException("it ends with a backslash");
        }
        char c = text.charAt(at++);
        if (!systemd) {
            if (quote == '"' && c != '"' && c != '\\') {
                word.append('\\');
            }
            word.append(c);
            return;
        }
        switch (c) {
            case 'a' -> word.append('\u0007');
            case 'b' -> word.append('\b');
            case 'f' -> word.append('\f');
            case 'n' -> word.append('\n');
            case 'r' -> word.append('\r');
            case 't' -> word.append('\t');
            case 'v' -> word.append('\u000b');
            case 's' -> word.append(' ');
            case '\\', '"', '\'' -> word.append(c);
            case 'x' -> number(2, 16, word);
            case 'u' -> number(4, 16, word);
            case 'U' -> number(8, 16, word);
            case '0', '1', '2', '3', '4', '5', '6', '7' -> {
                at--;
                number(3, 8, word);
            }
            // As systemd does with what it does not know, such as \d of a regular expression.
            default -> word.append('\\').append(c);
        }
    }

    private void number(int digits, int radix, StringBuilder word) {
        try {
            int end = Math.min(at + digits, text.length());
            if (end - at < digits) {
                throw new IllegalArgumentException("an escape sequence is cut short");
            }
            word.appendCodePoint(Integer.parseUnsignedInt(text, at, end, radix));
            at = end;
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException("an escape sequence has no number", e);
        }
    }
}
