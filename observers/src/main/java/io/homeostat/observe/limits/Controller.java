package io.homeostat.observe.limits;

import io.homeostat.desired.model.lifecycle.Limits;
import java.util.EnumSet;
import java.util.Locale;

/** What the kernel can limit of a control group, cgroups(7). */
public enum Controller {
    MEMORY,
    CPU;

    /** As the kernel writes it. */
    public String word() {
        return name().toLowerCase(Locale.ROOT);
    }

    /** Those that it takes to enforce these limits. */
    public static EnumSet<Controller> of(Limits limits) {
        EnumSet<Controller> needed = EnumSet.noneOf(Controller.class);
        if (limits.memory() != null) {
            needed.add(MEMORY);
        }
        if (limits.cpu() != null) {
            needed.add(CPU);
        }
        return needed;
    }
}
