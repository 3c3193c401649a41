package io.homeostat.observe.files;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Optional;

/** The text in a file. */
final class FileText {
    static final String NOT_UTF_8 = "it is not UTF-8; save it as UTF-8";

    private static final String BYTE_ORDER_MARK = "\uFEFF";

    private FileText() {}

    /** Without its byte order mark; empty when it isn't UTF-8. */
    static Optional<String> of(byte[] bytes) {
        try {
            String text = StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(ByteBuffer.wrap(bytes))
                    .toString();
            return Optional.of(text.startsWith(BYTE_ORDER_MARK) ? text.substring(1) : text);
        } catch (CharacterCodingException e) {
            return Optional.empty();
        }
    }
}
