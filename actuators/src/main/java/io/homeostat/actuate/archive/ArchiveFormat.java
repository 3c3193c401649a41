package io.homeostat.actuate.archive;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.US_ASCII;

import com.google.common.io.BaseEncoding;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;
import org.apache.commons.compress.archivers.tar.TarUtils;

/** Formats of archives, recognised by their first bytes and never by name. */
public enum ArchiveFormat {
    TAR_GZ,
    TAR,
    ZIP;

    /** The number of bytes needed: a tar header is one block. */
    static final int HEAD = 512;

    private static final int USTAR_AT = 257;

    public static Optional<ArchiveFormat> of(byte[] head) {
        if (startsWith(head, 0x1f, 0x8b)) {
            return Optional.of(TAR_GZ);
        }
        if (startsWith(head, 'P', 'K', 3, 4) || startsWith(head, 'P', 'K', 5, 6)) {
            return Optional.of(ZIP);
        }
        if (head.length == HEAD && (hasUstar(head) || isOldTar(head) || isZero(head))) {
            return Optional.of(TAR);
        }
        return Optional.empty();
    }

    public static byte[] head(Path file) throws IOException {
        try (InputStream in = Files.newInputStream(file)) {
            return head(in);
        }
    }

    /** Reads no more than the beginning. */
    public static byte[] head(InputStream in) throws IOException {
        return in.readNBytes(HEAD);
    }

    /** Describes what bytes that are no archive look like. */
    public static String describe(byte[] head) {
        if (head.length == 0) {
            return "it is empty";
        }
        if (startsWith(head, 0x7f, 'E', 'L', 'F')) {
            return "it is an ELF program; pack the program into a tar.gz, a bare binary can't be installed";
        }
        if (startsWith(head, '#', '!')) {
            return "it is a script; pack it into a tar.gz, a bare file can't be installed";
        }
        if (isHtml(head)) {
            return "it is an HTML page";
        }
        String compressed = startsWith(head, 0xfd, '7', 'z', 'X', 'Z')
                ? "xz"
                : startsWith(head, 0x28, 0xb5, 0x2f, 0xfd) ? "zstd" : startsWith(head, 'B', 'Z', 'h') ? "bzip2" : "";
        if (!compressed.isEmpty()) {
            return "it is compressed with " + compressed;
        }
        return "it begins with the bytes "
                + BaseEncoding.base16().lowerCase().encode(head, 0, Math.min(8, head.length));
    }

    public static boolean isHtml(byte[] head) {
        String text = new String(head, ISO_8859_1).stripLeading().toLowerCase(Locale.ROOT);
        return text.startsWith("<!doctype html") || text.startsWith("<html");
    }

    private static boolean startsWith(byte[] head, int... magic) {
        if (head.length < magic.length) {
            return false;
        }
        for (int i = 0; i < magic.length; i++) {
            if ((head[i] & 0xff) != magic[i]) {
                return false;
            }
        }
        return true;
    }

    private static boolean hasUstar(byte[] head) {
        return new String(head, USTAR_AT, 5, US_ASCII).equals("ustar");
    }

    /** Before POSIX, headers had no magic but a checksum. */
    private static boolean isOldTar(byte[] head) {
        try {
            return head[0] != 0 && TarUtils.verifyCheckSum(head);
        } catch (IllegalArgumentException e) {
            // There is no number where the checksum would be.
            return false;
        }
    }

    /** A tar without entries. */
    private static boolean isZero(byte[] head) {
        return Arrays.equals(head, new byte[HEAD]);
    }
}
