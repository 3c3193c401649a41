package io.homeostat.desired.platform;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.google.common.primitives.Bytes;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.Collections;
import java.util.zip.GZIPOutputStream;
import java.util.zip.ZipException;
import org.junit.jupiter.api.Test;

final class GzipMembersTest {
    @Test
    void allMembersAreUnpacked() throws Exception {
        byte[] some = Bytes.concat(packed("a"), packed(""), packed("b"));

        assertArrayEquals("ab".getBytes(UTF_8), unpacked(some));
        assertArrayEquals("ab".repeat(1000).getBytes(UTF_8), unpacked(repeated(some, 1000)));
    }

    @Test
    void manyMembersWithoutContentDoNotOverflowTheStack() throws Exception {
        byte[] empty = repeated(packed(""), 100_000);

        assertThrows(ZipException.class, () -> unpacked(empty));
        assertThrows(ZipException.class, () -> unpacked(Bytes.concat(packed("a"), empty)));
    }

    private static byte[] repeated(byte[] member, int times) {
        return Bytes.concat(Collections.nCopies(times, member).toArray(byte[][]::new));
    }

    private static byte[] packed(String content) throws IOException {
        ByteArrayOutputStream packed = new ByteArrayOutputStream();
        try (GZIPOutputStream out = new GZIPOutputStream(packed)) {
            out.write(content.getBytes(UTF_8));
        }
        return packed.toByteArray();
    }

    private static byte[] unpacked(byte[] packed) throws IOException {
        try (InputStream in = new GzipMembers(new ByteArrayInputStream(packed))) {
            return in.readAllBytes();
        }
    }
}
