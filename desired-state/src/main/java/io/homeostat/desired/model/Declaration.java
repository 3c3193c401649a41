package io.homeostat.desired.model;

import com.google.common.collect.ImmutableList;

/**
 * A workload as somebody wants it.
 *
 * @param source who declares it
 * @param generation grows by one each time that source changes its mind about this workload, from 1
 * @param hash of the whole document with every default, so that two equal declarations have equal hashes; changes when a
 *     signed URL is renewed, too
 * @param overruled the weaker sources that declare a workload of this name as well
 */
public record Declaration(
        Workload workload, SourceName source, long generation, String hash, ImmutableList<SourceName> overruled) {
    public WorkloadId id() {
        return workload.id();
    }
}
