package io.homeostat.desired.etcd;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedMap;
import com.google.protobuf.ByteString;
import java.time.Duration;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Predicate;

/**
 * What a fleet needs of etcd: keys with values, of which every change has a revision, the same for all who look. Methods wait for an answer,
 * and throw {@link KeyValuesException} when there is none in time or it is an error; whether a write that failed so has happened is not known.
 */
public interface KeyValues extends AutoCloseable {
    /** Lives without a lease. */
    long NO_LEASE = 0;

    /** The revision that is there when it is asked for. */
    long NEWEST = 0;

    /** Returns this key as it is now, if it is there. */
    default Optional<Entry> get(String key) throws KeyValuesException, InterruptedException {
        return get(key, NEWEST);
    }

    /** Returns this key as it was in a revision, if it was there. */
    Optional<Entry> get(String key, long revision) throws KeyValuesException, InterruptedException;

    /** Returns all keys that begin so, as of one moment, if there is memory for them. */
    default Listing list(String prefix) throws KeyValuesException, InterruptedException {
        return list(prefix, Long.MAX_VALUE);
    }

    /**
     * Returns all keys that begin so, as of one moment.
     *
     * @param most bytes that they may take, about; beyond it the listing fails before all is read
     */
    Listing list(String prefix, long most) throws KeyValuesException, InterruptedException;

    /**
     * Returns all keys that begin so, as of one moment. When there is no memory for them all, the largest are left out of those that may
     * be.
     *
     * @param mayBeLeftOut by key
     */
    default Listing list(String prefix, Predicate<String> mayBeLeftOut)
            throws KeyValuesException, InterruptedException {
        return list(prefix);
    }

    /**
     * Tells of every change of keys that begin so, in order and without a gap, until it is closed or has failed. Call again with the last
     * revision that was told.
     *
     * @param after the changes that come after this revision are told
     */
    Watching watch(String prefix, long after, Listener listener);

    /**
     * Does all of this if all of that holds, in one step.
     *
     * @return the revision of it; empty when a condition does not hold, and then nothing was done
     */
    OptionalLong commit(ImmutableList<Condition> conditions, ImmutableList<Write> writes)
            throws KeyValuesException, InterruptedException;

    /** Makes a lease, without which nothing is removed that was written with it. */
    long grant(Duration timeToLive) throws KeyValuesException, InterruptedException;

    /** Has a lease begin anew; false when it is over. */
    boolean renew(long lease) throws KeyValuesException, InterruptedException;

    /** Ends a lease, and removes what was written with it. */
    void revoke(long lease) throws KeyValuesException, InterruptedException;

    /**
     * Waits until it leads among all who campaign under this name: the one that began first, as long as its lease lasts. Interrupt it to
     * give up.
     *
     * @param name of the election, a key
     * @param candidate who campaigns, for people
     */
    Leadership campaign(String name, long lease, String candidate) throws KeyValuesException, InterruptedException;

    @Override
    void close();

    /**
     * That somebody leads. A write under the condition {@link #holds} happens only while it does.
     *
     * @param key that is there for as long as it leads
     * @param revision in which that came to be
     */
    record Leadership(String key, long revision) {
        public Condition holds() {
            return new Condition.CreatedIn(key, revision);
        }
    }

    /**
     * A key and its value.
     *
     * @param created revision in which it came to be; it stays the same until it is removed
     * @param modified revision in which it got this value
     */
    record Entry(String key, ByteString value, long created, long modified) {
        /** Bytes that are taken by a key beside itself and its value, about. */
        public static final int OVERHEAD = 200;

        /** Bytes that this takes, about. */
        public long bytes() {
            return (long) key.length() + value.size() + OVERHEAD;
        }
    }

    /**
     * Keys as they were in one revision.
     *
     * @param leftOut the keys for which there was no memory, with the bytes of each
     */
    record Listing(long revision, ImmutableSortedMap<String, Entry> entries, ImmutableSortedMap<String, Long> leftOut) {
        /** All keys. */
        public Listing(long revision, ImmutableSortedMap<String, Entry> entries) {
            this(revision, entries, ImmutableSortedMap.of());
        }
    }

    /** Something that has to be true of a key. */
    sealed interface Condition {
        String key();

        /** It came to be in this revision; 0: it is not there. */
        record CreatedIn(String key, long revision) implements Condition {}

        /** It got its value in this revision; 0: it is not there. */
        record ModifiedIn(String key, long revision) implements Condition {}
    }

    /** Something that is done to a key. */
    sealed interface Write {
        String key();

        /** Gives it a value, for as long as the lease lasts. */
        record Put(String key, ByteString value, long lease) implements Write {}

        /** Removes it if it is there. */
        record Delete(String key) implements Write {}
    }

    /** Hears of changes, one at a time. */
    interface Listener {
        /**
         * What has changed up to and with a revision.
         *
         * @param put in the order of their last changes; of a key that changed twice maybe both
         * @param deleted keys
         */
        void changed(ImmutableList<Entry> put, ImmutableList<String> deleted, long revision);

        /**
         * Nothing more is told: the connection is gone, or what comes next can't be told any more, because it was compacted.
         *
         * @param failure {@link KeyValuesException.Kind#COMPACTED}: list anew; else watch again
         */
        void ended(KeyValuesException failure);
    }

    /** A watch; nothing is told after it was closed. */
    interface Watching extends AutoCloseable {
        @Override
        void close();
    }
}
