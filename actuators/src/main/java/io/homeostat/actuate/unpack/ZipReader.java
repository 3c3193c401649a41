package io.homeostat.actuate.unpack;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.common.hash.Hashing;
import io.homeostat.actuate.Interruption;
import io.homeostat.actuate.unpack.UnpackLimits.UnpackBudget;
import java.io.BufferedInputStream;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.OptionalLong;
import java.util.zip.CRC32;
import org.apache.commons.compress.archivers.zip.UnicodePathExtraField;
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
            ZipDirectory.of(archive).requireBounded(archive, budget);
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
                    // What they add to the directory would be kept, and several of its entries may share one.
                    .setIgnoreLocalFileHeader(true)
                    .get();
        } catch (IOException | RuntimeException | StackOverflowError | OutOfMemoryError e) {
            throw DamagedArchive.of(ZipDirectory.DAMAGED, e);
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
        String name = name(entry);
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

    /** The name, in UTF-8, that older programs add to one in their own encoding (APPNOTE 4.6.9), as long as that is the same. */
    private static String name(ZipArchiveEntry entry) {
        return !entry.getGeneralPurposeBit().usesUTF8ForNames()
                        && entry.getExtraField(UnicodePathExtraField.UPATH_ID) instanceof UnicodePathExtraField added
                        && added.getNameCRC32()
                                == Hashing.crc32().hashBytes(entry.getRawName()).padToLong()
                ? new String(added.getUnicodeName(), UTF_8)
                : entry.getName();
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
     * The directory at the end of a zip (APPNOTE 4.3), read first because the library keeps all of it in memory. It is where the library
     * looks for it, whatever other places the archive names.
     *
     * @param start where its first entry begins
     */
    private record ZipDirectory(long start) {
        static final String DAMAGED = "the directory at its end is damaged";

        private static final int RECORD = 22;
        private static final int MAX_COMMENT = 0xffff;
        private static final int MAGIC = 0x06054b50;
        private static final int ZIP64_LOCATOR = 20;
        private static final int ZIP64_LOCATOR_MAGIC = 0x07064b50;
        private static final int ZIP64_RECORD = 56;
        private static final int ZIP64_MAGIC = 0x06064b50;
        private static final int ENTRY = 46;
        private static final int ENTRY_MAGIC = 0x02014b50;

        /** Bytes that the library keeps of an entry, of each of its extra fields, and of each byte in them and in its name. */
        private static final int OF_ENTRY = 656;

        private static final int OF_FIELD = 80;
        private static final int OF_BYTE = 2;

        /** Of an entry: the library looks through all of them for each. */
        private static final int MAX_FIELDS = 1000;

        static ZipDirectory of(FileChannel archive) throws IOException, RefusedArchive {
            long size = archive.size();
            int tail = (int) Math.min(size, RECORD + MAX_COMMENT);
            ByteBuffer end = bytes(archive, size - tail, tail);
            for (int at = tail - RECORD; at >= 0; at--) {
                if (end.getInt(at) == MAGIC) {
                    int comment = end.getShort(at + 20) & 0xffff;
                    if (at + RECORD + comment != tail) {
                        throw new RefusedArchive("something comes after its end");
                    }
                    long record = size - tail + at;
                    long length = Integer.toUnsignedLong(end.getInt(at + 12));
                    long offset = Integer.toUnsignedLong(end.getInt(at + 16));
                    // Something may come before what the offsets count from.
                    long before = Math.max(record - length - offset, 0);
                    return of(zip64(archive, record, size).orElse(offset + before), size);
                }
            }
            throw new DamagedArchive("it is truncated: the directory at its end is missing");
        }

        private static OptionalLong zip64(FileChannel archive, long record, long size) throws IOException {
            if (record <= ZIP64_LOCATOR) {
                return OptionalLong.empty();
            }
            ByteBuffer locator = bytes(archive, record - ZIP64_LOCATOR, ZIP64_LOCATOR);
            if (locator.getInt(0) != ZIP64_LOCATOR_MAGIC) {
                return OptionalLong.empty();
            }
            long at = locator.getLong(8);
            if (at >= 0 && at <= size - ZIP64_RECORD) {
                ByteBuffer big = bytes(archive, at, ZIP64_RECORD);
                if (big.getInt(0) == ZIP64_MAGIC) {
                    return OptionalLong.of(big.getLong(48));
                }
            }
            throw new DamagedArchive(DAMAGED);
        }

        private static ZipDirectory of(long start, long size) throws DamagedArchive {
            if (start < 0 || start > size) {
                throw new DamagedArchive(DAMAGED);
            }
            return new ZipDirectory(start);
        }

        /** Counts what is there: what the archive says of that need not be true, and nobody goes by it. */
        void requireBounded(FileChannel archive, UnpackBudget budget) throws IOException, RefusedArchive {
            InputStream in = new BufferedInputStream(Channels.newInputStream(archive.position(start)));
            long count = 0;
            long memory = 0;
            for (byte[] read = in.readNBytes(ENTRY); read.length == ENTRY; read = in.readNBytes(ENTRY)) {
                ByteBuffer entry = ByteBuffer.wrap(read).order(ByteOrder.LITTLE_ENDIAN);
                if (entry.getInt(0) != ENTRY_MAGIC) {
                    break;
                }
                count++;
                budget.requireEntries(count);
                int name = entry.getShort(28) & 0xffff;
                int extra = entry.getShort(30) & 0xffff;
                int comment = entry.getShort(32) & 0xffff;
                byte[] texts = in.readNBytes(name + extra + comment);
                int fields = fields(texts, name, name + extra);
                if (fields > MAX_FIELDS) {
                    throw new RefusedArchive("an entry has more than " + MAX_FIELDS + " extra fields");
                }
                memory += OF_ENTRY + (long) OF_BYTE * texts.length + (long) OF_FIELD * fields;
                budget.requireMemory(memory);
            }
        }

        private static int fields(byte[] bytes, int start, int end) {
            ByteBuffer lengths = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
            int fields = 0;
            for (int at = start; at + 4 <= Math.min(end, bytes.length); at += 4 + (lengths.getShort(at + 2) & 0xffff)) {
                fields++;
            }
            return fields;
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
