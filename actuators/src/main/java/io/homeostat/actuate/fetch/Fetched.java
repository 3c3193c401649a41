package io.homeostat.actuate.fetch;

import io.homeostat.actuate.Chunk;
import io.homeostat.actuate.fetch.Timing.Deadline;
import java.io.Closeable;
import java.io.IOException;

/**
 * The beginning of a source's answer.
 *
 * @param offset where in the archive the body begins
 * @param total bytes of the whole archive, -1 when the source does not say
 * @param validator identifies this version of the archive when the rest is requested later; empty when nothing does
 * @param html whether the source calls it a web page
 */
record Fetched(Body body, long offset, long total, String validator, boolean html) {

    /** The bytes of an archive as they arrive. */
    interface Body extends Closeable {
        /**
         * Waits for at least one byte and takes as many as are there and fit.
         *
         * @return false at the end
         * @throws FailedAttempt when the deadline passes first
         */
        boolean fill(Chunk chunk, Deadline deadline) throws IOException, InterruptedException, FailedAttempt;
    }
}
