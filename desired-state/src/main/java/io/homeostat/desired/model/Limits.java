package io.homeostat.desired.model;

import org.jspecify.annotations.Nullable;

/** Limits of a process tree; what is left out is not limited. */
public record Limits(
        @Doc("The most memory the process tree may use. Beyond it the kernel kills it, and the workload is restarted.")
        @Range(min = 1)
        @Nullable
        Size memory,

        @Doc("Percent of one core; above 100% for several cores.") @Nullable
        Cpu cpu,

        @Doc("true: where limits can't be enforced, the program is not started.") @Default("false")
        boolean required) {

    public static final Limits NONE = new Limits(null, null, false);

    /** Whether anything is limited. */
    public boolean areAny() {
        return memory != null || cpu != null;
    }
}
