package io.homeostat.desired.remote;

import com.google.common.collect.ImmutableSortedMap;
import com.google.protobuf.ByteString;
import io.homeostat.desired.fleet.SetReader;
import java.util.Optional;

/** Where a set is published. Not for use by several threads. */
public interface SetFetcher extends AutoCloseable {
    /** The most bytes of a set, packed or not. */
    int MAX_BYTES = SetReader.MAX_BYTES;

    /** Where it is, for people; without secrets. */
    String name();

    /**
     * Gets what is published now, within a minute or so, and as long as other sources hold the {@link LargeSetLock}. The current thread may
     * hold that afterwards, and also after a failure; the caller releases it.
     *
     * @param known the version that the caller has; empty to get it in any case
     */
    Fetched fetch(Optional<String> known) throws FetchFailure, InterruptedException;

    @Override
    void close();

    /** What is published. */
    sealed interface Fetched {
        /** The version that the caller has. */
        record NotModified() implements Fetched {}

        /**
         * A set in one file, or YAML.
         *
         * @param version a different one for each content
         */
        record File(String version, ByteString content) implements Fetched {}

        /**
         * A directory of files.
         *
         * @param version a different one for each content
         * @param files by their paths in the directory; those whose names have a dot in front, too
         * @param notice something that somebody should know of it; empty when there is nothing
         */
        record Tree(String version, ImmutableSortedMap<String, ByteString> files, String notice) implements Fetched {}

        /**
         * Something that is not to be taken.
         *
         * @param version a different one for each content
         * @param why as the end of a sentence about the source, with what to do; without secrets
         */
        record Refused(String version, String why) implements Fetched {}
    }
}
