package io.homeostat.desired.remote;

import io.homeostat.desired.fleet.SetFile;
import io.homeostat.desired.remote.SetFetcher.Fetched;
import java.util.Optional;

/** Where a set is to be published. Not for use by several threads. */
public interface SetTarget extends AutoCloseable {
    /** Where that is, for people; without secrets. */
    String name();

    /** What is there now; empty when nothing is. */
    Optional<Fetched> read() throws FetchFailure, InterruptedException;

    /**
     * Publishes a set as a whole in place of what {@link #read} has found last.
     *
     * @return false when something else has been published there since; then nothing is written
     */
    boolean write(SetFile set) throws FetchFailure, InterruptedException;

    @Override
    void close();
}
