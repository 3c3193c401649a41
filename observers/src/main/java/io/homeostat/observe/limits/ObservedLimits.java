package io.homeostat.observe.limits;

import com.google.common.collect.ImmutableSortedSet;
import io.homeostat.desired.model.lifecycle.Limits;

/**
 * How a workload is limited.
 *
 * @param inForce the limits of its control groups; {@link Limits#required()} says nothing here
 * @param outside numbers of those of its main processes that are not in its groups, so that no limit holds for them
 * @param obstacles what could not be limited if it were asked for
 */
public record ObservedLimits(Limits inForce, ImmutableSortedSet<Long> outside, LimitObstacles obstacles) {
    /** Not limited, on a machine that could. */
    public static final ObservedLimits NONE =
            new ObservedLimits(Limits.NONE, ImmutableSortedSet.of(), LimitObstacles.NONE);
}
