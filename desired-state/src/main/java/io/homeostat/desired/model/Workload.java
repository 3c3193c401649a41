package io.homeostat.desired.model;

import com.google.common.collect.ImmutableSortedMap;

/** One declared workload: a document that was read and found valid, paths and defaults filled in. */
public record Workload(WorkloadId id, ImmutableSortedMap<String, String> labels, WorkloadSpec spec) {
    public Program program() {
        return spec.program();
    }

    public String revision() {
        return spec.program().revision();
    }
}
