package io.homeostat.desired.model;

import com.google.common.collect.ImmutableList;

/**
 * A workload as somebody wants it.
 *
 * @param generation from 1, grows by one each time the source changes this declaration
 * @param hash of the whole document with every default; changes when a signed URL is renewed, too
 * @param overruled the weaker sources that declare this workload as well
 */
public record Declaration(
        Workload workload, SourceName source, long generation, String hash, ImmutableList<SourceName> overruled) {
    public WorkloadId id() {
        return workload.id();
    }
}
