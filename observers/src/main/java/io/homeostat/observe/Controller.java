package io.homeostat.observe;

import java.util.Locale;

/** What the kernel can limit of a control group, cgroups(7). */
public enum Controller {
    MEMORY,
    CPU;

    /** As the kernel writes it. */
    public String word() {
        return name().toLowerCase(Locale.ROOT);
    }
}
