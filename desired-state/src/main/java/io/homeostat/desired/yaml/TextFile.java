package io.homeostat.desired.yaml;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.CoderResult;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import org.snakeyaml.engine.v2.scanner.StreamReader;

/** Gets the text of a file, or says where it isn't one. */
final class TextFile {
    /** The longest text that is read, in bytes. */
    static final int MAX_BYTES = 16 << 20;

    static final String TOO_LONG = "is longer than " + (MAX_BYTES >> 20) + " MiB; split it";

    private TextFile() {}

    /** The whole text without its byte order mark; empty when it isn't UTF-8, too long or has characters that YAML excludes. */
    static Optional<String> read(InputStream in, Report report) throws IOException {
        byte[] bytes = in.readNBytes(MAX_BYTES + 1);
        if (bytes.length > MAX_BYTES) {
            report.error(Problem.Kind.TOO_LARGE, TOO_LONG);
            return Optional.empty();
        }
        CharsetDecoder decoder = StandardCharsets.UTF_8
                .newDecoder()
                .onMalformedInput(CodingErrorAction.REPORT)
                .onUnmappableCharacter(CodingErrorAction.REPORT);
        CharBuffer chars = CharBuffer.allocate(bytes.length);
        CoderResult result = decoder.decode(ByteBuffer.wrap(bytes), chars, true);
        String text = chars.flip().toString();
        if (result.isError()) {
            return unreadable(text, text.length(), "a byte that is not UTF-8; save the file as UTF-8", report);
        }
        int bad = firstUnprintable(text);
        if (bad >= 0) {
            return unreadable(
                    text,
                    bad,
                    String.format("character U+%04X, which YAML does not allow; remove it", text.codePointAt(bad)),
                    report);
        }
        return Optional.of(text.startsWith("\uFEFF") ? text.substring(1) : text);
    }

    private static Optional<String> unreadable(String text, int at, String message, Report report) {
        int line = 1;
        int start = 0;
        for (int i = 0; i < at; i++) {
            if (text.charAt(i) == '\n') {
                line++;
                start = i + 1;
            }
        }
        report.error(Problem.Kind.SYNTAX, line, text.codePointCount(start, at) + 1, message);
        return Optional.empty();
    }

    private static int firstUnprintable(String text) {
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if ((c >= ' ' && c < 0x7F) || c == '\n') {
                continue;
            }
            int codePoint = text.codePointAt(i);
            if (!StreamReader.isPrintable(codePoint)) {
                return i;
            }
            i += Character.charCount(codePoint) - 1;
        }
        return -1;
    }
}
