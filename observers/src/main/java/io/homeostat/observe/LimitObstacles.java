package io.homeostat.observe;

import com.google.common.collect.ImmutableMap;
import io.homeostat.desired.model.Limits;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * What this machine can't limit.
 *
 * @param reasons why, by controller; empty when it can limit everything
 */
public record LimitObstacles(ImmutableMap<Controller, String> reasons) {
    public static final LimitObstacles NONE = new LimitObstacles(ImmutableMap.of());

    /** Which of these limits can't be enforced, why, and what to do, for people; empty when all can. */
    public Optional<String> against(Limits limits) {
        String parts = Controller.of(limits).stream()
                .filter(reasons::containsKey)
                .map(controller -> "limits." + controller.word() + " (" + reasons.get(controller) + ")")
                .collect(Collectors.joining(" and "));
        return parts.isEmpty()
                ? Optional.empty()
                : Optional.of("can't enforce " + parts
                        + "; run homeostat as root or in a unit with Delegate=yes, on a kernel with these controllers");
    }

    /** These limits without those that can't be enforced. */
    public Limits enforceable(Limits limits) {
        return new Limits(
                reasons.containsKey(Controller.MEMORY) ? null : limits.memory(),
                reasons.containsKey(Controller.CPU) ? null : limits.cpu(),
                limits.required());
    }
}
