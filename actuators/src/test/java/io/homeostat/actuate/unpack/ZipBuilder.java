package io.homeostat.actuate.unpack;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.common.hash.Hashing;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.zip.ZipEntry;
import org.apache.commons.compress.archivers.zip.ZipArchiveEntry;
import org.apache.commons.compress.archivers.zip.ZipArchiveOutputStream;

/** Writes zips entry by entry. */
final class ZipBuilder {
    private static final int REGULAR = 0100000;
    private static final int SYMLINK = 0120000;

    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    private final ZipArchiveOutputStream zip = new ZipArchiveOutputStream(bytes);

    ZipBuilder file(String name, int mode, byte[] content) {
        return put(name, REGULAR | mode, content);
    }

    ZipBuilder program(String name) {
        return file(name, 0755, "#!/bin/sh\n".getBytes(UTF_8));
    }

    ZipBuilder symlink(String name, String target) {
        return put(name, SYMLINK | 0777, target.getBytes(UTF_8));
    }

    ZipBuilder put(String name, int unixMode, byte[] content) {
        try {
            ZipArchiveEntry entry = new ZipArchiveEntry(name);
            entry.setUnixMode(unixMode);
            zip.putArchiveEntry(entry);
            zip.write(content);
            zip.closeArchiveEntry();
            return this;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** An entry of a system without modes. */
    ZipBuilder plain(String name, byte[] content) {
        try {
            zip.putArchiveEntry(new ZipArchiveEntry(name));
            zip.write(content);
            zip.closeArchiveEntry();
            return this;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** An entry whose sizes stand before its content and not after it. */
    ZipBuilder stored(String name, byte[] content) {
        try {
            ZipArchiveEntry entry = new ZipArchiveEntry(name);
            entry.setMethod(ZipEntry.STORED);
            entry.setSize(content.length);
            entry.setCrc(Hashing.crc32().hashBytes(content).padToLong());
            zip.putArchiveEntry(entry);
            zip.write(content);
            zip.closeArchiveEntry();
            return this;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    byte[] zip() {
        try {
            zip.close();
            return bytes.toByteArray();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
