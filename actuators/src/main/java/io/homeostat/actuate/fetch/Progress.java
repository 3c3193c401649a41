package io.homeostat.actuate.fetch;

/** Receives the progress of a download. Called often, on the downloading thread, so it has to be quick. */
@FunctionalInterface
public interface Progress {
    /** Ignores progress. */
    Progress NONE = (done, total) -> {};

    /**
     * Reports progress.
     *
     * @param done bytes received, including those of earlier attempts; back to 0 when a download starts over
     * @param total bytes of the whole archive, -1 while unknown
     */
    void bytes(long done, long total);
}
