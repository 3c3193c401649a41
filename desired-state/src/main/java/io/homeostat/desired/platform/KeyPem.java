package io.homeostat.desired.platform;

import com.google.common.io.BaseEncoding;
import com.google.common.primitives.Bytes;
import com.google.common.primitives.Ints;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Base64;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Reads private keys in PEM as PKCS #8, the only form that the JDK takes. The older ones, PKCS #1 for RSA (RFC 8017, A.1.2) and SEC 1 for
 * elliptic curves (RFC 5915), are wrapped into it; anything else is left as it is.
 */
final class KeyPem {
    private static final Pattern OLDER =
            Pattern.compile("-----BEGIN (RSA|EC) PRIVATE KEY-----([A-Za-z0-9+/=\\s]++)-----END \\1 PRIVATE KEY-----");

    private static final byte[] VERSION_0 = {2, 1, 0};
    private static final byte[] RSA = BaseEncoding.base16().decode("300D06092A864886F70D0101010500");
    private static final byte[] EC = BaseEncoding.base16().decode("06072A8648CE3D0201");

    private static final int SEQUENCE = 0x30;
    private static final int OCTETS = 0x04;
    private static final int PARAMETERS = 0xA0;
    private static final int SHORT_LENGTH = 0x80;

    private KeyPem() {}

    /** @throws IllegalArgumentException if it claims to be of an older form and is not; quotes nothing of it */
    static InputStream pkcs8(Path file) throws IOException {
        byte[] content = Files.readAllBytes(file);
        Matcher older = OLDER.matcher(new String(content, StandardCharsets.ISO_8859_1));
        if (!older.find()) {
            return new ByteArrayInputStream(content);
        }
        byte[] key = Base64.getMimeDecoder().decode(older.group(2));
        byte[] algorithm = older.group(1).equals("RSA") ? RSA : element(SEQUENCE, EC, curve(key));
        byte[] newer = element(SEQUENCE, VERSION_0, algorithm, element(OCTETS, key));
        String pem = "-----BEGIN PRIVATE KEY-----\n" + Base64.getMimeEncoder().encodeToString(newer)
                + "\n-----END PRIVATE KEY-----\n";
        return new ByteArrayInputStream(pem.getBytes(StandardCharsets.US_ASCII));
    }

    /** The name of the curve, which follows the version and the key. */
    private static byte[] curve(byte[] key) {
        ByteBuffer fields = content(ByteBuffer.wrap(key), SEQUENCE);
        content(fields, VERSION_0[0]);
        content(fields, OCTETS);
        ByteBuffer parameters = content(fields, PARAMETERS);
        byte[] name = new byte[parameters.remaining()];
        parameters.get(name);
        return name;
    }

    /** Reads the content of the next element, which has to be of this type. */
    private static ByteBuffer content(ByteBuffer from, int type) {
        if (from.remaining() < 2 || (from.get() & 0xFF) != type) {
            throw new IllegalArgumentException("not a key");
        }
        int length = from.get() & 0xFF;
        if (length >= SHORT_LENGTH) {
            int bytes = length - SHORT_LENGTH;
            length = 0;
            for (int i = 0; i < bytes && from.hasRemaining(); i++) {
                length = (length << Byte.SIZE) | (from.get() & 0xFF);
            }
        }
        if (length < 0 || length > from.remaining()) {
            throw new IllegalArgumentException("not a key");
        }
        ByteBuffer content = from.slice(from.position(), length);
        from.position(from.position() + length);
        return content;
    }

    private static byte[] element(int type, byte[]... parts) {
        byte[] content = Bytes.concat(parts);
        return Bytes.concat(new byte[] {(byte) type}, length(content.length), content);
    }

    /** As short as possible, as DER requires. */
    private static byte[] length(int length) {
        if (length < SHORT_LENGTH) {
            return new byte[] {(byte) length};
        }
        byte[] all = Ints.toByteArray(length);
        int skipped = Integer.numberOfLeadingZeros(length) / Byte.SIZE;
        byte[] bytes = Arrays.copyOfRange(all, skipped, all.length);
        return Bytes.concat(new byte[] {(byte) (SHORT_LENGTH | bytes.length)}, bytes);
    }
}
