package io.homeostat.actuate.limits;

import com.google.common.collect.ImmutableMap;
import io.homeostat.desired.model.lifecycle.Limits;
import io.homeostat.observe.limits.CgroupLayout;
import io.homeostat.observe.limits.Controller;
import io.homeostat.observe.limits.LimitObstacles;
import java.util.EnumMap;
import java.util.Map;

/** Which of some limits could not be set, and why: the first reason is the one that counts. */
final class Lacking {
    private final Limits limits;
    private final String oomGroup;
    private final Map<Controller, String> reasons = new EnumMap<>(Controller.class);

    Lacking(CgroupLayout layout, Limits limits) {
        this.limits = limits;
        this.oomGroup = layout.obstacles().oomGroup();
        for (Controller controller : Controller.values()) {
            if (layout.hierarchies().stream()
                    .noneMatch(hierarchy -> hierarchy.controllers().contains(controller))) {
                add(controller, CgroupLayout.NO_CONTROLLER);
            }
        }
    }

    void add(Controller controller, String why) {
        reasons.putIfAbsent(controller, why);
    }

    LimitResult result() {
        return new LimitObstacles(ImmutableMap.copyOf(reasons), oomGroup)
                .against(limits)
                .<LimitResult>map(LimitResult.Unavailable::new)
                .orElseGet(LimitResult.Enforced::new);
    }
}
