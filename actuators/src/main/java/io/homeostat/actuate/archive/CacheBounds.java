package io.homeostat.actuate.archive;

import java.time.Duration;

/**
 * What the cache may keep of archives that nobody needs now, for when somebody does again.
 *
 * @param bytes all of them together
 * @param age since somebody needed it last, to about an hour
 */
public record CacheBounds(long bytes, Duration age) {
    /** Keeps nothing that nobody needs. */
    public static final CacheBounds NOTHING = new CacheBounds(0, Duration.ZERO);
}
