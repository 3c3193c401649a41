package io.homeostat.observe.limits;

import io.homeostat.desired.model.Lifecycle.Limits;
import java.util.EnumSet;
import java.util.Locale;

/** A controller of control groups, cgroups(7). */
public enum Controller {
    MEMORY,
    CPU;

    /** The kernel's name. */
    public String word() {
        return name().toLowerCase(Locale.ROOT);
    }

    /** The controllers needed to enforce these limits. */
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
