package io.homeostat.observe.limits;

import com.google.common.collect.ImmutableMap;
import io.homeostat.desired.model.lifecycle.Limits;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * What cannot be limited on this machine.
 *
 * @param reasons why, by controller; empty when it can limit everything
 * @param oomGroup why the kernel cannot kill a whole process tree when it runs out of memory; empty when it can
 */
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
                : Optional.of("can't enforce " + parts
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
