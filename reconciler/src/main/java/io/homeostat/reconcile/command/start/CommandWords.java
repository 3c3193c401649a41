package io.homeostat.reconcile.command.start;

import com.google.common.collect.ImmutableList;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;

/** Splits what others write as one line into the words of a command. Nothing is expanded, no shell is asked. */
final class CommandWords {
    private final String text;
    private final boolean systemd;
    private final ImmutableList.Builder<String> words = ImmutableList.builder();
    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    private boolean separated;
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
     * The same for a command, where a semicolon that stands alone begins another one.
     *
     * @throws IllegalArgumentException that says what is wrong
     */
    static ImmutableList<String> systemdCommand(String text) {
        CommandWords words = new CommandWords(text, true);
        words.separated = true;
        return words.split();
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
        boolean ended = false;
        while (true) {
            while (at < text.length() && Character.isWhitespace(text.charAt(at))) {
                at++;
            }
            if (at == text.length()) {
                return words.build();
            }
            if (separated && isAlone(";")) {
                ended = true;
                at++;
                continue;
            }
            if (ended) {
                throw new IllegalArgumentException(
                        "there are several commands, and a Process has one; put them into a script");
            }
            if (separated && isAlone("\\;")) {
                words.add(";");
                at += 2;
            } else {
                words.add(word());
            }
        }
    }

    private boolean isAlone(String word) {
        int end = at + word.length();
        return text.startsWith(word, at) && (end == text.length() || Character.isWhitespace(text.charAt(end)));
    }

    private String word() {
        StringBuilder word = new StringBuilder();
        char quote = 0;
        while (at < text.length()) {
            char c = text.charAt(at++);
            if (quote == 0 && Character.isWhitespace(c)) {
                break;
            }
            if (c == '\\' && (systemd || quote != '\'')) {
                escape(quote, word);
            } else if (quote == 0 && (c == '"' || c == '\'')) {
                quote = c;
            } else if (quote != 0 && c == quote) {
                quote = 0;
            } else {
                flush(word);
                word.append(c);
            }
        }
        flush(word);
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
        if (c != 'x' && (c < '0' || c > '7')) {
            flush(word);
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
            case 'x' -> bytes.write(number(2, 16, 0xff));
            case 'u' -> word.appendCodePoint(number(4, 16, Character.MAX_CODE_POINT));
            case 'U' -> word.appendCodePoint(number(8, 16, Character.MAX_CODE_POINT));
            case '0', '1', '2', '3', '4', '5', '6', '7' -> {
                at--;
                bytes.write(number(3, 8, 0xff));
            }
            // As systemd does with what it does not know, such as \d of a regular expression.
            default -> word.append('\\').append(c);
        }
    }

    private int number(int digits, int radix, int most) {
        int end = Math.min(at + digits, text.length());
        if (end - at < digits) {
            throw new IllegalArgumentException("an escape sequence is cut short");
        }
        String said = text.substring(at, end);
        // The JDK would take a sign, too, and digits of other scripts.
        if (!said.matches(radix == 8 ? "[0-7]+" : "[0-9a-fA-F]+")) {
            throw new IllegalArgumentException("an escape sequence has no number");
        }
        int number = Integer.parseUnsignedInt(said, radix);
        if (number <= 0 || number > most || Character.getType(number) == Character.SURROGATE) {
            throw new IllegalArgumentException("an escape sequence stands for no character");
        }
        at = end;
        return number;
    }

    /** A character may be several bytes, each an escape sequence of its own. */
    private void flush(StringBuilder word) {
        try {
            word.append(StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes.toByteArray())));
            bytes.reset();
        } catch (CharacterCodingException e) {
            throw new IllegalArgumentException("escape sequences stand for bytes that are no UTF-8", e);
        }
    }
}
