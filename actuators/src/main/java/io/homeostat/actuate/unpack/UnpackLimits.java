package io.homeostat.actuate.unpack;

import java.nio.file.FileSystemException;
import java.nio.file.Path;
import java.util.function.LongSupplier;

/**
 * Limits of an unpacked archive: total bytes of its files, entries including directories and links, bytes to be left free on the file
 * system.
 */
public record UnpackLimits(long maxBytes, int maxEntries, long reserveBytes) {
    public static final UnpackLimits DEFAULT = new UnpackLimits(16L << 30, 200_000, 64L << 20);

    /** An archive that unpacks to more than this many times its size is a bomb: real programs do not compress like that... */
    static final long BOMB_RATIO = 1000;

    /** ...beyond this many bytes; a small file of zeros is harmless. */
    static final long BOMB_BYTES = 64L << 20;

    /** Characters of names for each possible entry, on average; one may have 2048. Those beyond Latin-1 take twice the memory, and count so. */
    static final int NAME_CHARACTERS = 160;

    static final long LEAST_NAME_CHARACTERS = 64 << 10;

    private static final int LATIN_1 = 0xFF;

    /** Bytes of memory for the directory of a zip: for each possible entry, and at least. */
    private static final int ZIP_ENTRY = 1 << 10;

    private static final long LEAST_ZIP_DIRECTORY = 256 << 10;

    /** Bytes of memory for the directory of a zip, at most: a part of a small heap, and enough for 100,000 entries. */
    private static final long MOST_ZIP_DIRECTORY = 96L << 20;

    public UnpackLimits {
        if (maxBytes < 1 || maxEntries < 1 || reserveBytes < 0) {
            throw new IllegalArgumentException(
                    "bad unpack limits: " + maxBytes + " bytes, " + maxEntries + " entries, reserve " + reserveBytes);
        }
    }

    /** Returns these limits with at most this many entries. */
    UnpackLimits withEntries(int most) {
        return new UnpackLimits(maxBytes, Math.min(maxEntries, most), reserveBytes);
    }

    private long maxNameCharacters() {
        return Math.max(LEAST_NAME_CHARACTERS, (long) maxEntries * NAME_CHARACTERS);
    }

    private long maxDirectoryMemory() {
        return Math.clamp((long) maxEntries * ZIP_ENTRY, LEAST_ZIP_DIRECTORY, MOST_ZIP_DIRECTORY);
    }

    /** Counts what is unpacked against the limits. */
    static final class UnpackBudget {
        /** Bytes of a tar that are no content: for each entry, on average, and at least. */
        private static final long OTHER_BYTES_OF_ENTRY = 4 << 10;

        private static final long OTHER_BYTES = 16 << 20;

        /** Bytes that are written without looking how many are free. */
        static final long LOOK_EVERY = 16L << 20;

        private final UnpackLimits limits;
        private final long archiveBytes;
        private final LongSupplier readableBytes;
        private final LongSupplier usableBytes;
        private long bytes;
        private long nextLook = LOOK_EVERY;
        private int entries;
        private long nameCharacters;
        private boolean exceeded;

        /** @param usableBytes free bytes on the disk now */
        UnpackBudget(UnpackLimits limits, long archiveBytes, LongSupplier usableBytes) {
            this(limits, archiveBytes, () -> archiveBytes, usableBytes);
        }

        /**
         * @param archiveBytes as announced
         * @param readableBytes that have arrived of them
         */
        UnpackBudget(UnpackLimits limits, long archiveBytes, LongSupplier readableBytes, LongSupplier usableBytes) {
            this.limits = limits;
            this.archiveBytes = archiveBytes;
            this.readableBytes = readableBytes;
            this.usableBytes = usableBytes;
        }

        /** Checks before anything is written: unpacked content is hardly ever smaller than the archive. */
        void requireRoom(Path root) throws FileSystemException {
            requireFree(root, archiveBytes + limits.reserveBytes());
        }

        private void requireFree(Path root, long wanted) throws FileSystemException {
            long usable = usableBytes.getAsLong();
            if (usable < wanted) {
                throw new FileSystemException(
                        root.toString(),
                        null,
                        "only " + usable + " bytes are free, " + wanted + " are needed, " + limits.reserveBytes()
                                + " of which have to stay free; free some space");
            }
        }

        void entry(String name) throws RefusedArchive {
            entries++;
            requireEntries(entries);
            name(name);
        }

        /** A name or a target of a link, which is kept as long as the archive is unpacked. */
        void name(String name) throws RefusedArchive {
            nameCharacters += name.length() * (name.chars().allMatch(c -> c <= LATIN_1) ? 1L : 2L);
            if (nameCharacters > limits.maxNameCharacters()) {
                exceeded = true;
                throw new RefusedArchive("the names in it are longer than " + limits.maxNameCharacters()
                        + " characters together, " + NAME_CHARACTERS + " for each entry that limits.entries allows");
            }
        }

        /** Requires that the directory of a zip, which is kept whole, takes no more memory than it may. */
        void requireMemory(long memory) throws RefusedArchive {
            if (memory > limits.maxDirectoryMemory()) {
                exceeded = true;
                throw new RefusedArchive("its directory would take more than the " + limits.maxDirectoryMemory()
                        + " bytes of memory that it may; pack it as a tar.gz, which has none");
            }
        }

        /** Whether there was too much of what takes memory: entries, names of them, and the directory of a zip. */
        boolean isExceeded() {
            return exceeded;
        }

        void requireEntries(long count) throws RefusedArchive {
            if (count > limits.maxEntries()) {
                exceeded = true;
                throw new RefusedArchive(
                        "it has more than the " + limits.maxEntries() + " entries that limits.entries allows");
            }
        }

        void bytes(Path root, String entry, long more) throws RefusedArchive, FileSystemException {
            bytes += more;
            if (bytes >= nextLook) {
                nextLook = bytes + LOOK_EVERY;
                requireFree(root, limits.reserveBytes());
            }
            if (bytes > limits.maxBytes()) {
                throw RefusedArchive.entry(
                        entry,
                        "makes it unpack to more than the " + limits.maxBytes()
                                + " bytes that limits.unpackedBytes allows");
            }
            if (bytes > UnpackLimits.BOMB_BYTES && bytes / UnpackLimits.BOMB_RATIO > readableBytes.getAsLong()) {
                throw RefusedArchive.entry(
                        entry,
                        "makes it a compression bomb: " + readableBytes.getAsLong() + " bytes that unpack to more than "
                                + UnpackLimits.BOMB_RATIO + " times as much");
            }
        }

        /** The most that may have been read of a tar so far: content of its files, and headers and padding, which nothing else bounds. */
        long maxStreamBytes() {
            return bytes + entries * OTHER_BYTES_OF_ENTRY + OTHER_BYTES;
        }
    }
}
