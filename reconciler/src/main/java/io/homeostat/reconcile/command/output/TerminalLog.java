package io.homeostat.reconcile.command.output;

import io.homeostat.desired.model.VisibleText;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.util.regex.Pattern;

/**
 * What a workload has written, as a terminal may show it: its colours until the end of their line, where there are colours at all, and a
 * question mark for everything else that is not visible. Closing it leaves the terminal open.
 */
public final class TerminalLog extends OutputStream {
    private static final char ESCAPE = '\u001b';
    private static final String RESET = "\u001b[0m";

    /** Select Graphic Rendition of ECMA-48. A longer one than this is none that a program writes. */
    private static final Pattern COLOUR = Pattern.compile("\u001b(?:\\[(?:[0-9;:]{0,40}m?)?)?");

    private static final int BUFFER = 8192;

    private final PrintStream out;
    private final boolean coloured;
    private final CharsetDecoder decoder = StandardCharsets.UTF_8
            .newDecoder()
            .onMalformedInput(CodingErrorAction.REPLACE)
            .onUnmappableCharacter(CodingErrorAction.REPLACE);
    private final ByteBuffer bytes = ByteBuffer.allocate(BUFFER);
    private final CharBuffer chars = CharBuffer.allocate(BUFFER);
    /** The beginning of a colour, of the end of a line or of a pair of surrogates, whose rest is still to be written. */
    private final StringBuilder begun = new StringBuilder();

    private final StringBuilder shown = new StringBuilder();
    private boolean painted;

    public TerminalLog(PrintStream out, boolean coloured) {
        this.out = out;
        this.coloured = coloured;
    }

    @Override
    public void write(int b) {
        write(new byte[] {(byte) b}, 0, 1);
    }

    @Override
    public void write(byte[] from, int offset, int length) {
        for (int done = 0; done < length; ) {
            int some = Math.min(length - done, bytes.remaining());
            bytes.put(from, offset + done, some);
            done += some;
            decode(false);
        }
        print();
    }

    private void decode(boolean last) {
        bytes.flip();
        // There is a character at most for each byte.
        decoder.decode(bytes, chars, last);
        bytes.compact();
        chars.flip();
        while (chars.hasRemaining()) {
            show(chars.get());
        }
        chars.clear();
    }

    private void show(char next) {
        begun.append(next);
        if (isBegun()) {
            return;
        }
        String text = begun.toString();
        begun.setLength(0);
        if (coloured
                && text.length() > 2
                && text.endsWith("m")
                && COLOUR.matcher(text).matches()) {
            shown.append(text);
            painted = true;
        } else if (text.equals("\r\n")) {
            showPlain("\n");
        } else if (text.length() > 1 && (text.charAt(0) == ESCAPE || text.charAt(0) == '\r')) {
            // It did not begin what it seemed to. The rest is plain text, and the last may begin something else.
            shown.append('?').append(text, 1, text.length() - 1);
            show(next);
        } else {
            showPlain(text);
        }
    }

    private boolean isBegun() {
        char first = begun.charAt(0);
        if (first == '\r') {
            return begun.length() == 1;
        }
        return first == ESCAPE
                ? COLOUR.matcher(begun).matches() && begun.charAt(begun.length() - 1) != 'm'
                : begun.length() == 1 && Character.isHighSurrogate(first);
    }

    private void showPlain(String text) {
        if (text.equals("\n")) {
            reset();
        }
        shown.append(VisibleText.lines(text));
    }

    private void reset() {
        if (painted) {
            shown.append(RESET);
            painted = false;
        }
    }

    private void print() {
        out.append(shown);
        shown.setLength(0);
    }

    @Override
    public void flush() {
        out.flush();
    }

    @Override
    public void close() {
        decode(true);
        if (!begun.isEmpty()) {
            shown.append('?').append(begun, 1, begun.length());
            begun.setLength(0);
        }
        reset();
        print();
        out.flush();
    }
}
