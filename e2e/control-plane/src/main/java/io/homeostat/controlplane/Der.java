package io.homeostat.controlplane;

import java.io.ByteArrayOutputStream;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;

/** The few encodings of X.690 that a certificate needs. */
final class Der {
    private static final DateTimeFormatter GENERALIZED_TIME =
            DateTimeFormatter.ofPattern("yyyyMMddHHmmss'Z'").withZone(ZoneOffset.UTC);
    private static final DateTimeFormatter UTC_TIME =
            DateTimeFormatter.ofPattern("yyMMddHHmmss'Z'").withZone(ZoneOffset.UTC);
    private static final Instant YEAR_2050 = Instant.parse("2050-01-01T00:00:00Z");
    private static final int SHORT_LENGTH = 0x80;

    private Der() {}

    static byte[] sequence(byte[]... parts) {
        ByteArrayOutputStream content = new ByteArrayOutputStream();
        for (byte[] part : parts) {
            content.writeBytes(part);
        }
        return element(0x30, content.toByteArray());
    }

    static byte[] integer(long value) {
        return element(0x02, BigInteger.valueOf(value).toByteArray());
    }

    static byte[] bool(boolean value) {
        return element(0x01, (byte) (value ? 0xFF : 0));
    }

    static byte[] octets(byte[] content) {
        return element(0x04, content);
    }

    static byte[] bits(byte[] content) {
        byte[] padded = new byte[content.length + 1];
        System.arraycopy(content, 0, padded, 1, content.length);
        return element(0x03, padded);
    }

    /** An object identifier, its content already encoded. */
    static byte[] oid(int... content) {
        byte[] bytes = new byte[content.length];
        for (int i = 0; i < content.length; i++) {
            bytes[i] = (byte) content[i];
        }
        return element(0x06, bytes);
    }

    /** UTCTime before 2050, as RFC 5280 wants it, else GeneralizedTime. */
    static byte[] time(Instant instant) {
        return instant.isBefore(YEAR_2050)
                ? element(0x17, UTC_TIME.format(instant).getBytes(StandardCharsets.US_ASCII))
                : element(0x18, GENERALIZED_TIME.format(instant).getBytes(StandardCharsets.US_ASCII));
    }

    /** A context-specific tag in the place of the content's own. */
    static byte[] tagged(int tag, byte[] content) {
        return element(0x80 | tag, content);
    }

    /** A context-specific tag around an element. */
    static byte[] explicit(int tag, byte[] element) {
        return element(0xA0 | tag, element);
    }

    private static byte[] element(int tag, byte... content) {
        ByteArrayOutputStream element = new ByteArrayOutputStream();
        element.write(tag);
        if (content.length < SHORT_LENGTH) {
            element.write(content.length);
        } else {
            byte[] length = BigInteger.valueOf(content.length).toByteArray();
            int skip = length[0] == 0 ? 1 : 0;
            element.write(SHORT_LENGTH | (length.length - skip));
            element.write(length, skip, length.length - skip);
        }
        element.writeBytes(content);
        return element.toByteArray();
    }
}
