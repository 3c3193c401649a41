package io.homeostat.observe.limits;

import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSortedSet;
import io.homeostat.desired.model.Lifecycle.Limits;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The limits in force for a workload.
 *
 * @param inForce {@link Limits#required()} has no meaning here
 * @param outside pids of main processes that are not in its groups, so that no limit applies to them
 * @param obstacles what could not be limited if it were declared
 */
public record ObservedLimits(Limits inForce, ImmutableSortedSet<Long> outside, LimitObstacles obstacles) {
    /** No limits, on a machine that could enforce some. */
    public static final ObservedLimits NONE =
            new ObservedLimits(Limits.NONE, ImmutableSortedSet.of(), LimitObstacles.NONE);

    /** What cannot be limited on this machine: reasons by controller, and why a whole process tree can't be killed when memory runs out. */
    public record LimitObstacles(ImmutableMap<Controller, String> reasons, String oomGroup) {
        public static final LimitObstacles NONE = new LimitObstacles(ImmutableMap.of());

        public LimitObstacles(ImmutableMap<Controller, String> reasons) {
            this(reasons, "");
        }

        /** Which of these limits cannot be enforced, why, and what to do, for people; empty when all can. */
        public Optional<String> against(Limits limits) {
            Stream<String> ofControllers = Controller.of(limits).stream()
                    .filter(reasons::containsKey)
                    .map(controller -> "limits." + controller.word() + " (" + reasons.get(controller) + ")");
            Stream<String> ofGroup = limits.oomGroup() && !oomGroup.isEmpty()
                    ? Stream.of("limits.oomGroup (" + oomGroup + ")")
                    : Stream.of();
            String parts = Stream.concat(ofControllers, ofGroup).collect(Collectors.joining(" and "));
            return parts.isEmpty()
                    ? Optional.empty()
                    : Optional.of(
                            "can't enforce " + parts
                                    + "; run homeostat as root or in a unit with Delegate=yes, on a kernel with these controllers");
        }

        /** These limits without the ones that cannot be enforced. */
        public Limits enforceable(Limits limits) {
            return new Limits(
                    reasons.containsKey(Controller.MEMORY) ? null : limits.memory(),
                    reasons.containsKey(Controller.CPU) ? null : limits.cpu(),
                    limits.required(),
                    limits.oomGroup() && oomGroup.isEmpty());
        }
    }
}
