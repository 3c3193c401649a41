package io.homeostat.actuate.fetch;

/**
 * Limits of a download.
 *
 * @param maxBytes the largest archive, in bytes
 * @param reserveBytes what has to stay free on the file system, in bytes
 */
public record DownloadLimits(long maxBytes, long reserveBytes) {
    public static final DownloadLimits DEFAULT = new DownloadLimits(4L << 30, 64L << 20);

    public DownloadLimits {
        if (maxBytes < 1 || reserveBytes < 0) {
            throw new IllegalArgumentException("bad download limits: " + maxBytes + " bytes, reserve " + reserveBytes);
        }
    }
}
