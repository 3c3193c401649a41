package io.homeostat.desired.fleet;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.state.StoredSet.Highest;

/**
 * The newest sets that controllers of a fleet have taken, as they are in its store.
 *
 * @param sets one a signer
 */
public record NewestSets(ImmutableList<Highest> sets) {}
