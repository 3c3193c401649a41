package io.homeostat.desired.fleet;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.state.StoredSet.Highest;
import java.util.Collection;
import java.util.Optional;

/**
 * The newest set that was ever taken, as far as those who published it still count: an older one that somebody brings again is not
 * taken. A key that is no longer trusted takes its sequences with it, so one that was stolen can't lock anybody out.
 *
 * @param sequence 0 when there was none
 * @param digests of sets with this sequence
 */
public record SequenceFloor(long sequence, ImmutableSet<String> digests) {
    /** Whose sequences are those of sets that no trusted key has signed. */
    public static final String UNSIGNED = "";

    /**
     * Finds the newest.
     *
     * @param trusted ids of the keys that are trusted now
     * @param required whether only signed sets are taken now
     */
    public static SequenceFloor of(Collection<Highest> seen, ImmutableSet<String> trusted, boolean required) {
        ImmutableList<Highest> counted = seen.stream()
                .filter(one -> one.signer().equals(UNSIGNED) ? !required : trusted.contains(one.signer()))
                .collect(ImmutableList.toImmutableList());
        long highest = counted.stream().mapToLong(Highest::sequence).max().orElse(0);
        return new SequenceFloor(
                highest,
                counted.stream()
                        .filter(one -> one.sequence() == highest)
                        .map(Highest::digest)
                        .collect(ImmutableSet.toImmutableSet()));
    }

    /** Why a set is not taken; empty when it may be. One without a sequence may: who can write it can write any sequence. */
    public Optional<String> refusal(PublishedSet set) {
        if (set.sequence() == 0 || set.sequence() > sequence) {
            return Optional.empty();
        }
        if (set.sequence() < sequence) {
            return Optional.of("the set is an older one: its sequence is " + set.sequence() + ", and " + sequence
                    + " was taken before; publish what is meant anew");
        }
        return digests.contains(set.digest())
                ? Optional.empty()
                : Optional.of("the set is another one than that which was taken with the same sequence, " + sequence
                        + "; publish what is meant anew");
    }
}
