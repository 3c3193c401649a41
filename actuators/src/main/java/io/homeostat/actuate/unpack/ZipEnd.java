package io.homeostat.actuate.unpack;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;

/**
 * The record a zip ends with (APPNOTE 4.3.16), read before anything else is: the library keeps the whole central directory in
 * memory, whatever its size.
 *
 * @param entries as the record says, or as many as 65535 can stand for
 * @param directoryBytes how much lies between the start of the central directory and the end of the file
 */
record ZipEnd(long entries, long directoryBytes) {
    private static final int RECORD = 22;
    private static final int MAX_COMMENT = 0xffff;
    private static final int MAGIC = 0x06054b50;
    private static final int ZIP64_LOCATOR = 20;
    private static final int ZIP64_LOCATOR_MAGIC = 0x07064b50;
    private static final int ZIP64_RECORD = 56;
    private static final int ZIP64_MAGIC = 0x06064b50;

    /** Enough for 200,000 entries with long names, and little enough for a small heap. */
    private static final long MAX_DIRECTORY_BYTES = 48L << 20;

    static ZipEnd read(FileChannel archive) throws IOException, Refusal {
        long size = archive.size();
        int tail = (int) Math.min(size, RECORD + MAX_COMMENT);
        ByteBuffer end = bytes(archive, size - tail, tail);
        for (int at = tail - RECORD; at >= 0; at--) {
            if (end.getInt(at) == MAGIC) {
                int comment = end.getShort(at + 20) & 0xffff;
                if (at + RECORD + comment != tail) {
                    throw new Refusal("something comes after its end");
                }
                long entries = end.getShort(at + 10) & 0xffff;
                long offset = end.getInt(at + 16) & 0xffffffffL;
                boolean zip64 = entries == 0xffff || offset == 0xffffffffL;
                return zip64 ? zip64(archive, size - tail + at, size) : new ZipEnd(entries, size - offset);
            }
        }
        throw new IOException("it is truncated: the directory at its end is missing");
    }

    private static ZipEnd zip64(FileChannel archive, long record, long size) throws IOException {
        if (record >= ZIP64_LOCATOR) {
            ByteBuffer locator = bytes(archive, record - ZIP64_LOCATOR, ZIP64_LOCATOR);
            long at = locator.getLong(8);
            if (locator.getInt(0) == ZIP64_LOCATOR_MAGIC && at >= 0 && at <= size - ZIP64_RECORD) {
                ByteBuffer big = bytes(archive, at, ZIP64_RECORD);
                if (big.getInt(0) == ZIP64_MAGIC) {
                    return new ZipEnd(big.getLong(32), size - big.getLong(48));
                }
            }
        }
        throw new IOException("the directory at its end is damaged");
    }

    void requireBounded(UnpackBudget budget) throws Refusal {
        budget.requireEntries(entries < 0 ? Long.MAX_VALUE : entries);
        if (directoryBytes < 0 || directoryBytes > MAX_DIRECTORY_BYTES) {
            throw new Refusal("its directory would take " + directoryBytes + " bytes of memory, at most "
                    + MAX_DIRECTORY_BYTES + " are allowed");
        }
    }

    private static ByteBuffer bytes(FileChannel archive, long at, int count) throws IOException {
        ByteBuffer buffer = ByteBuffer.allocate(count).order(ByteOrder.LITTLE_ENDIAN);
        while (buffer.hasRemaining()) {
            if (archive.read(buffer, at + buffer.position()) < 0) {
                throw new IOException("it is truncated");
            }
        }
        return buffer;
    }
}
