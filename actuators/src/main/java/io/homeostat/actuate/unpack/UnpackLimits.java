package io.homeostat.actuate.unpack;

/**
 * What an archive may become.
 *
 * @param maxBytes the content of all its files, in bytes
 * @param maxEntries entries, directories and links included
 * @param reserveBytes what has to stay free on the file system, in bytes
 */
public record UnpackLimits(long maxBytes, int maxEntries, long reserveBytes) {
    public static final UnpackLimits DEFAULT = new UnpackLimits(16L << 30, 200_000, 64L << 20);

    /** An archive that unpacks to more than so many times its size is a bomb: no compressor of ours gets there with a program... */
    static final long BOMB_RATIO = 1000;

    /** ...beyond this many bytes; a small file of zeros harms nobody. */
    static final long BOMB_BYTES = 64L << 20;

    public UnpackLimits {
        if (maxBytes < 1 || maxEntries < 1 || reserveBytes < 0) {
            throw new IllegalArgumentException(
                    "bad unpack limits: " + maxBytes + " bytes, " + maxEntries + " entries, reserve " + reserveBytes);
        }
    }
}
