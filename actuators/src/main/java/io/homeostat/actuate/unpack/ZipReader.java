package io.homeostat.actuate.unpack;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.homeostat.actuate.Interruption;
import io.homeostat.actuate.unpack.UnpackLimits.UnpackBudget;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.zip.CRC32;
import org.apache.commons.compress.archivers.zip.ZipArchiveEntry;
import org.apache.commons.compress.archivers.zip.ZipFile;

/** Unpacks a zip by its central directory, and refuses one whose local headers disagree. */
final class ZipReader {
    private static final int LOCAL_HEADER = 30;
    private static final int LOCAL_MAGIC = 0x04034b50;
    private static final int ENCRYPTED = 1;
    private static final int SIZES_FOLLOW = 8;
    private static final int IN_ZIP64_FIELD = -1;
    private static final int TYPE = 0170000;
    private static final int REGULAR = 0100000;
    private static final int DIRECTORY = 0040000;
    private static final int SYMLINK = 0120000;
    private static final int MAX_TARGET = 4096;

    private final FileChannel archive;
    private final ZipFile zip;
    private final StagedTree tree;

    private ZipReader(FileChannel archive, ZipFile zip, StagedTree tree) {
        this.archive = archive;
        this.zip = zip;
        this.tree = tree;
    }

    static void read(Path file, StagedTree tree, UnpackBudget budget)
            throws IOException, RefusedArchive, InterruptedException {
        try (FileChannel archive = FileChannel.open(file, StandardOpenOption.READ)) {
            ZipEnd.read(archive).requireBounded(budget);
            try (ZipFile zip = open(archive)) {
                List<ZipArchiveEntry> entries = Collections.list(zip.getEntriesInPhysicalOrder());
                ZipReader reader = new ZipReader(archive, zip, tree);
                for (ZipArchiveEntry entry : entries) {
                    Interruption.check();
                    reader.takeWhole(entry);
                }
            }
        }
    }

    private static ZipFile open(FileChannel archive) throws IOException {
        try {
            return ZipFile.builder()
                    .setSeekableByteChannel(archive)
                    .setCharset(UTF_8)
                    .get();
        } catch (IOException | RuntimeException | StackOverflowError | OutOfMemoryError e) {
            throw DamagedArchive.of(ZipEnd.DAMAGED, e);
        }
    }

    private void takeWhole(ZipArchiveEntry entry) throws IOException, RefusedArchive {
        try {
            take(entry);
        } catch (IOException | RuntimeException | StackOverflowError | OutOfMemoryError e) {
            throw DamagedArchive.of("entry '" + EntryName.shown(entry.getName()) + "' can't be read", e);
        }
    }

    private void take(ZipArchiveEntry entry) throws IOException, RefusedArchive {
        String name = entry.getName();
        if (entry.getGeneralPurposeBit().usesEncryption()) {
            throw RefusedArchive.entry(name, "is encrypted");
        }
        requireSameLocalHeader(entry);
        boolean unix = entry.getPlatform() == ZipArchiveEntry.PLATFORM_UNIX;
        int type = unix ? entry.getUnixMode() & TYPE : 0;
        int mode = unix && entry.getUnixMode() != 0 ? entry.getUnixMode() & 07777 : entry.isDirectory() ? 0755 : 0644;
        if (type == DIRECTORY || (type == 0 && entry.isDirectory())) {
            tree.directory(name, mode);
        } else if (type == SYMLINK) {
            tree.symlink(name, target(entry));
        } else if ((type == REGULAR || type == 0) && !entry.isDirectory()) {
            if (!zip.canReadEntryData(entry)) {
                throw RefusedArchive.entry(
                        name, "is stored in a way that can't be read (method " + entry.getMethod() + ")");
            }
            try (InputStream content = new Checked(zip.getInputStream(entry), entry)) {
                tree.file(name, mode, entry.getLastModifiedTime(), content);
            }
        } else {
            throw RefusedArchive.entry(
                    name,
                    "is neither a file, a directory nor a symlink (mode " + Integer.toOctalString(entry.getUnixMode())
                            + ")");
        }
    }

    private String target(ZipArchiveEntry entry) throws IOException, RefusedArchive {
        try (InputStream content = new Checked(zip.getInputStream(entry), entry)) {
            byte[] target = content.readNBytes(MAX_TARGET + 1);
            if (target.length > MAX_TARGET) {
                throw RefusedArchive.entry(entry.getName(), "is a symlink to an overlong path");
            }
            return new String(target, UTF_8);
        }
    }

    /** Programs that read zips front to back believe the local header; an archive must be the same for all of them. */
    private void requireSameLocalHeader(ZipArchiveEntry entry) throws IOException, RefusedArchive {
        ByteBuffer header = read(entry.getLocalHeaderOffset(), LOCAL_HEADER);
        int magic = header.getInt(0);
        int flags = header.getShort(6) & 0xffff;
        int method = header.getShort(8) & 0xffff;
        int nameLength = header.getShort(26) & 0xffff;
        byte[] localName =
                read(entry.getLocalHeaderOffset() + LOCAL_HEADER, nameLength).array();
        boolean same = magic == LOCAL_MAGIC
                && method == entry.getMethod()
                && (flags & ENCRYPTED) == 0
                && ((flags & SIZES_FOLLOW) != 0 || hasSameSizes(header, entry))
                && Arrays.equals(localName, entry.getRawName());
        if (!same) {
            throw RefusedArchive.entry(
                    entry.getName(), "is described differently in the zip's directory and before its content");
        }
    }

    private static boolean hasSameSizes(ByteBuffer local, ZipArchiveEntry entry) {
        return local.getInt(14) == (int) entry.getCrc()
                && isSameSize(local.getInt(18), entry.getCompressedSize())
                && isSameSize(local.getInt(22), entry.getSize());
    }

    private static boolean isSameSize(int local, long size) {
        return local == IN_ZIP64_FIELD || Integer.toUnsignedLong(local) == size;
    }

    private ByteBuffer read(long at, int count) throws IOException {
        ByteBuffer buffer = ByteBuffer.allocate(count).order(ByteOrder.LITTLE_ENDIAN);
        while (buffer.hasRemaining()) {
            if (archive.read(buffer, at + buffer.position()) < 0) {
                throw new DamagedArchive("it ends in the middle of an entry");
            }
        }
        return buffer;
    }

    /** Compares length and checksum with what the directory says. */
    private static final class Checked extends FilterInputStream {
        private final ZipArchiveEntry entry;
        private final CRC32 crc = new CRC32();
        private long bytes;

        Checked(InputStream in, ZipArchiveEntry entry) {
            super(in);
            this.entry = entry;
        }

        @Override
        public int read(byte[] into, int offset, int count) throws IOException {
            int got = in.read(into, offset, count);
            if (got > 0) {
                crc.update(into, offset, got);
                bytes += got;
            } else if (got < 0 && (bytes != entry.getSize() || crc.getValue() != entry.getCrc())) {
                throw new DamagedArchive(
                        "entry '" + EntryName.shown(entry.getName()) + "' is damaged: its length or checksum is wrong");
            }
            return got;
        }

        @Override
        public int read() throws IOException {
            byte[] one = new byte[1];
            return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
        }
    }

    /**
     * The record at the end of a zip (APPNOTE 4.3.16), read first because the library keeps the whole central directory in memory.
     *
     * @param entries as recorded, or as many as 65535 can stand for
     * @param directoryBytes from the start of the central directory to the end of the file
     */
    private record ZipEnd(long entries, long directoryBytes) {
        static final String DAMAGED = "the directory at its end is damaged";

        private static final int RECORD = 22;
        private static final int MAX_COMMENT = 0xffff;
        private static final int MAGIC = 0x06054b50;
        private static final int ZIP64_LOCATOR = 20;
        private static final int ZIP64_LOCATOR_MAGIC = 0x07064b50;
        private static final int ZIP64_RECORD = 56;
        private static final int ZIP64_MAGIC = 0x06064b50;

        /** Enough for 200,000 entries with long names, and small enough for a small heap. */
        private static final long MAX_DIRECTORY_BYTES = 48L << 20;

        static ZipEnd read(FileChannel archive) throws IOException, RefusedArchive {
            long size = archive.size();
            int tail = (int) Math.min(size, RECORD + MAX_COMMENT);
            ByteBuffer end = bytes(archive, size - tail, tail);
            for (int at = tail - RECORD; at >= 0; at--) {
                if (end.getInt(at) == MAGIC) {
                    int comment = end.getShort(at + 20) & 0xffff;
                    if (at + RECORD + comment != tail) {
                        throw new RefusedArchive("something comes after its end");
                    }
                    long entries = end.getShort(at + 10) & 0xffff;
                    long offset = end.getInt(at + 16) & 0xffffffffL;
                    boolean zip64 = entries == 0xffff || offset == 0xffffffffL;
                    return zip64 ? zip64(archive, size - tail + at, size) : of(entries, offset, size);
                }
            }
            throw new DamagedArchive("it is truncated: the directory at its end is missing");
        }

        private static ZipEnd zip64(FileChannel archive, long record, long size) throws IOException {
            if (record >= ZIP64_LOCATOR) {
                ByteBuffer locator = bytes(archive, record - ZIP64_LOCATOR, ZIP64_LOCATOR);
                long at = locator.getLong(8);
                if (locator.getInt(0) == ZIP64_LOCATOR_MAGIC && at >= 0 && at <= size - ZIP64_RECORD) {
                    ByteBuffer big = bytes(archive, at, ZIP64_RECORD);
                    if (big.getInt(0) == ZIP64_MAGIC) {
                        return of(big.getLong(32), big.getLong(48), size);
                    }
                }
            }
            throw new DamagedArchive(DAMAGED);
        }

        private static ZipEnd of(long entries, long offset, long size) throws DamagedArchive {
            if (offset < 0 || offset > size) {
                throw new DamagedArchive(DAMAGED);
            }
            return new ZipEnd(entries, size - offset);
        }

        void requireBounded(UnpackBudget budget) throws RefusedArchive {
            budget.requireEntries(entries < 0 ? Long.MAX_VALUE : entries);
            if (directoryBytes > MAX_DIRECTORY_BYTES) {
                throw new RefusedArchive("its directory would take " + directoryBytes + " bytes of memory, at most "
                        + MAX_DIRECTORY_BYTES + " are allowed");
            }
        }

        private static ByteBuffer bytes(FileChannel archive, long at, int count) throws IOException {
            ByteBuffer buffer = ByteBuffer.allocate(count).order(ByteOrder.LITTLE_ENDIAN);
            while (buffer.hasRemaining()) {
                if (archive.read(buffer, at + buffer.position()) < 0) {
                    throw new DamagedArchive("it is truncated");
                }
            }
            return buffer;
        }
    }
}
