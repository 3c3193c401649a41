package io.homeostat.actuate.fetch;

/** Hears how far a download is. Called often, on the downloading thread: has to be quick. */
@FunctionalInterface
public interface Progress {
    /** Nobody listens. */
    Progress NONE = (done, total) -> {};

    /**
     * So much is there.
     *
     * @param done bytes, those of earlier attempts included; goes back to 0 when a download has to start again
     * @param total bytes of the whole archive, -1 while unknown
     */
    void bytes(long done, long total);
}
