package io.homeostat.desired.fleet;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.BriefText;
import io.homeostat.desired.state.StoredSet.Highest;

/**
 * The newest sets that controllers of a fleet have taken, as they are in its store.
 *
 * @param sets one a signer
 */
public record NewestSets(ImmutableList<Highest> sets) {
    /** Signers whose keys are trusted, or were; a fleet has a few. */
    private static final int MOST_SETS = 250;

    /** Anybody's text may become one: with one more signer it still has to be such that the store takes it. */
    public NewestSets {
        if (sets.size() > MOST_SETS) {
            throw new IllegalArgumentException("sets: more than " + MOST_SETS + ", which no fleet has");
        }
        for (Highest set : sets) {
            if (set.signer().length() > BriefText.LONGEST || set.digest().length() > BriefText.LONGEST) {
                throw new IllegalArgumentException(
                        "sets: a signer or a digest of more than " + BriefText.LONGEST + " characters");
            }
        }
    }
}
