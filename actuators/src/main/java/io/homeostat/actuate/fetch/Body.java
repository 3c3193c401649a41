package io.homeostat.actuate.fetch;

import io.homeostat.actuate.Chunk;
import java.io.Closeable;
import java.io.IOException;

/** The bytes of an archive as they arrive. */
interface Body extends Closeable {
    /**
     * Waits for at least one byte and takes what is there, as much as fits.
     *
     * @return false at the end
     * @throws FailedAttempt when the deadline passes first
     */
    boolean fill(Chunk chunk, Deadline deadline) throws IOException, InterruptedException, FailedAttempt;
}
