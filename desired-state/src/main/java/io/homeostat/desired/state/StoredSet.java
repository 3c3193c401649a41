package io.homeostat.desired.state;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.model.SourceName;
import java.time.Instant;
import java.util.Optional;

/**
 * The last good set of a source of published sets.
 *
 * @param name where it is, such as {@code etcd:/homeostat/set}; without secrets
 * @param version what the source calls it: a commit, a revision, an ETag; empty when it calls it nothing
 * @param sequence of its publication; 0 when it has none
 * @param digest of its content: two of one sequence are the same one when this is equal
 */
public record StoredSet(
        SourceName source,
        String name,
        String version,
        long sequence,
        Optional<Instant> publishedAt,
        String digest,
        Instant takenAt) {

    /** Whether it is the same publication; a commit may touch what is beside the set, and it is read again after a restart. */
    public boolean isSameSet(StoredSet other) {
        return name.equals(other.name) && sequence == other.sequence && digest.equals(other.digest);
    }

    /**
     * With what is in it.
     *
     * @param signers ids of the keys that have signed it; empty when it is not signed
     * @param documents texts by their paths within the set
     */
    public record Content(StoredSet set, ImmutableList<String> signers, ImmutableSortedMap<String, String> documents) {}

    /**
     * The highest sequence of one signer that was ever taken, here or by controllers of a fleet.
     *
     * @param signer id of a key; empty for sets that no trusted key has signed
     */
    public record Highest(String signer, long sequence, String digest) {}

    /**
     * How a source of sets stands.
     *
     * @param set the last good one; empty when there was none yet
     * @param answeredAt when it last answered, whatever it said; empty when it never has
     */
    public record Standing(SourceName source, String name, Optional<StoredSet> set, Optional<Instant> answeredAt) {}
}
