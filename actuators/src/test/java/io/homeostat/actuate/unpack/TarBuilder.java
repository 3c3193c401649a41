package io.homeostat.actuate.unpack;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.attribute.FileTime;
import java.util.zip.GZIPOutputStream;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveOutputStream;
import org.apache.commons.compress.archivers.tar.TarConstants;

/** Writes tars entry by entry, also such as no honest program writes. */
public final class TarBuilder {
    private static final FileTime NOW = FileTime.fromMillis(1_600_000_000_000L);

    /** Of the name in a header; a longer one takes a header of its own (POSIX pax). */
    private static final int LONGEST_NAME = 100;

    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    private final TarArchiveOutputStream tar = new TarArchiveOutputStream(bytes, UTF_8.name());

    public TarBuilder() {
        tar.setLongFileMode(TarArchiveOutputStream.LONGFILE_POSIX);
        tar.setBigNumberMode(TarArchiveOutputStream.BIGNUMBER_POSIX);
    }

    public TarBuilder file(String name, int mode, byte[] content) {
        TarArchiveEntry entry = new TarArchiveEntry(name, true);
        entry.setMode(mode);
        entry.setSize(content.length);
        return put(entry, content);
    }

    public TarBuilder file(String name, String content) {
        return file(name, 0644, content.getBytes(UTF_8));
    }

    public TarBuilder program(String name) {
        return file(name, 0755, "#!/bin/sh\n".getBytes(UTF_8));
    }

    public TarBuilder directory(String name, int mode) {
        TarArchiveEntry entry = new TarArchiveEntry(name.endsWith("/") ? name : name + "/", TarConstants.LF_DIR, true);
        entry.setMode(mode);
        return put(entry, new byte[0]);
    }

    public TarBuilder symlink(String name, String target) {
        return link(name, target, TarConstants.LF_SYMLINK);
    }

    public TarBuilder hardLink(String name, String target) {
        return link(name, target, TarConstants.LF_LINK);
    }

    public TarBuilder special(String name, byte type) {
        return put(new TarArchiveEntry(name, type, true), new byte[0]);
    }

    /** Adds a header of all entries that follow. */
    public TarBuilder global(String key, String value) {
        TarArchiveEntry header = new TarArchiveEntry("pax_global_header", TarConstants.LF_PAX_GLOBAL_EXTENDED_HEADER);
        header.addPaxHeader(key, value);
        try {
            tar.putArchiveEntry(header);
            return this;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private TarBuilder link(String name, String target, byte type) {
        TarArchiveEntry entry = new TarArchiveEntry(name, type, true);
        entry.setLinkName(target);
        return put(entry, new byte[0]);
    }

    public TarBuilder put(TarArchiveEntry entry, byte[] content) {
        if (entry.getLastModifiedTime().toMillis() > NOW.toMillis()) {
            // Whole seconds need no extended header.
            entry.setLastModifiedTime(NOW);
        }
        try {
            String name = entry.getName();
            if (name.length() > LONGEST_NAME) {
                // The library would do it, too, in a time that grows with the square of the length.
                byte[] path = record("path", name).getBytes(UTF_8);
                TarArchiveEntry header = new TarArchiveEntry("pax", TarConstants.LF_PAX_EXTENDED_HEADER_LC);
                header.setSize(path.length);
                write(header, path);
                entry.setName("long");
            }
            write(entry, content);
            return this;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void write(TarArchiveEntry entry, byte[] content) throws IOException {
        tar.putArchiveEntry(entry);
        tar.write(content);
        tar.closeArchiveEntry();
    }

    /** A record of a pax header, which begins with its own length in bytes. */
    private static String record(String key, String value) {
        String rest = " " + key + "=" + value + "\n";
        int bytes = rest.getBytes(UTF_8).length;
        int length = bytes + String.valueOf(bytes).length();
        return bytes + String.valueOf(length).length() + rest;
    }

    public byte[] tar() {
        try {
            tar.close();
            return bytes.toByteArray();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    public byte[] tarGz() {
        return gzip(tar());
    }

    public static byte[] gzip(byte[] content) {
        ByteArrayOutputStream compressed = new ByteArrayOutputStream();
        try (GZIPOutputStream gzip = new GZIPOutputStream(compressed)) {
            gzip.write(content);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return compressed.toByteArray();
    }
}
