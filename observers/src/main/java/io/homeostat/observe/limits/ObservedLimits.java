package io.homeostat.observe.limits;

import com.google.common.collect.ImmutableSortedSet;
import io.homeostat.desired.model.lifecycle.Limits;

/**
 * How a workload is limited.
 *
 * @param inForce the limits of its control groups; {@link Limits#required()} has no meaning here
 * @param outside pids of its main processes that are not in its groups, so that no limit applies to them
 * @param obstacles what could not be limited if it were declared
 */
public record ObservedLimits(Limits inForce, ImmutableSortedSet<Long> outside, LimitObstacles obstacles) {
    /** No limits, on a machine that could enforce some. */
    public static final ObservedLimits NONE =
            new ObservedLimits(Limits.NONE, ImmutableSortedSet.of(), LimitObstacles.NONE);
}
