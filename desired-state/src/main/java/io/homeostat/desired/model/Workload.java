package io.homeostat.desired.model;

import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.model.Lifecycle.Execution;
import org.jspecify.annotations.Nullable;

/** One declared workload: a document that was read and found valid, paths and defaults filled in. */
public record Workload(
        WorkloadId id, ImmutableSortedMap<String, String> labels, Placement placement, WorkloadSpec spec) {

    /** One that applies on every machine. */
    public Workload(WorkloadId id, ImmutableSortedMap<String, String> labels, WorkloadSpec spec) {
        this(id, labels, Placement.ANYWHERE, spec);
    }

    public Lifecycle lifecycle() {
        return spec.lifecycle();
    }

    public String revision() {
        return spec.revision();
    }

    public @Nullable Source source() {
        return spec.source();
    }

    /** Whether its program is expected to end. */
    public boolean isOneShot() {
        return lifecycle().execution().type() == Execution.Type.ONE_SHOT;
    }

    /** The program that is launched for it; throws an IllegalStateException when its kind launches none. */
    public Program program() {
        if (spec instanceof ProgramSpec launched) {
            return launched.program();
        }
        throw new IllegalStateException(id + " has no program");
    }
}
