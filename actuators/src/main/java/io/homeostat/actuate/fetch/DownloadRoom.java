package io.homeostat.actuate.fetch;

import io.homeostat.actuate.Disk;
import java.nio.file.Path;

/** Keeps a download within its bound and out of the last free bytes of the disk. */
final class DownloadRoom {
    private static final long LOOK_EVERY = 16L << 20;

    private final Disk disk;
    private final Path directory;
    private final DownloadLimits limits;
    private long nextLook = LOOK_EVERY;

    DownloadRoom(Disk disk, Path directory, DownloadLimits limits) {
        this.disk = disk;
        this.directory = directory;
        this.limits = limits;
    }

    /** Before the first byte, as far as the source says how many there will be. */
    void require(long missing, long total) throws FailedAttempt {
        requireBound(total);
        long usable = disk.usableBytes(directory);
        if (missing > usable - limits.reserveBytes()) {
            throw FailedAttempt.giveUp("it needs " + missing + " bytes below " + directory + ", where " + usable
                    + " are free and " + limits.reserveBytes() + " have to stay free; free some space");
        }
    }

    /** While bytes arrive: a source may have said nothing, or not the truth, and others write to the disk too. */
    void requireMore(long length) throws FailedAttempt {
        requireBound(length);
        if (length >= nextLook) {
            nextLook = length + LOOK_EVERY;
            long usable = disk.usableBytes(directory);
            if (usable < limits.reserveBytes()) {
                throw full("only " + usable + " bytes are free below " + directory + ", and " + limits.reserveBytes()
                        + " have to stay free");
            }
        }
    }

    FailedAttempt full(String what) {
        return FailedAttempt.withoutLeftovers(what + "; free some space");
    }

    private void requireBound(long bytes) throws FailedAttempt {
        if (bytes > limits.maxBytes()) {
            throw FailedAttempt.tooLarge("the archive is larger than the " + limits.maxBytes()
                    + " bytes that limits.downloadBytes allows; raise it or declare a smaller archive");
        }
    }
}
