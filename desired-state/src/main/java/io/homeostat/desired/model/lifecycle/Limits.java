package io.homeostat.desired.model.lifecycle;

import io.homeostat.desired.model.schema.Cpu;
import io.homeostat.desired.model.schema.Default;
import io.homeostat.desired.model.schema.Doc;
import io.homeostat.desired.model.schema.Range;
import io.homeostat.desired.model.schema.Size;
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
        boolean required,

        @Doc(
                "true: beyond the memory limit the kernel kills all of the process tree and not one process of it; takes control groups of version 2.")
        @Default("false")
        boolean oomGroup) {

    public static final Limits NONE = new Limits(null, null, false);

    /** Of which the kernel kills one process when memory runs out. */
    public Limits(@Nullable Size memory, @Nullable Cpu cpu, boolean required) {
        this(memory, cpu, required, false);
    }

    /** Whether anything is limited. */
    public boolean areAny() {
        return memory != null || cpu != null;
    }
}
