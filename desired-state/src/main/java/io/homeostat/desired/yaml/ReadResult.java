package io.homeostat.desired.yaml;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.Workload;

/**
 * What documents say.
 *
 * @param workloads all that are valid in themselves, in the order they were read; to be used only when there is no error
 * @param texts that they were read from, for whoever sends them on
 * @param errors sorted by place
 * @param warnings sorted by place; what is valid but probably not meant
 */
public record ReadResult(
        ImmutableList<ReadWorkload> workloads,
        ImmutableList<Input.Text> texts,
        ImmutableList<Problem> errors,
        ImmutableList<Problem> warnings) {
    public boolean valid() {
        return errors.isEmpty();
    }

    /** The workloads without their places. */
    public ImmutableList<Workload> declared() {
        return workloads.stream().map(ReadWorkload::workload).collect(ImmutableList.toImmutableList());
    }
}
