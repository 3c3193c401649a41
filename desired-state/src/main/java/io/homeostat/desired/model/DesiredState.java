package io.homeostat.desired.model;

import com.google.common.collect.ImmutableSortedMap;
import java.util.Optional;

/** What belongs on this machine: one winning declaration a workload, all sources considered. */
public record DesiredState(ImmutableSortedMap<WorkloadId, Declaration> declarations) {
    public static final DesiredState EMPTY = new DesiredState(ImmutableSortedMap.of());

    public Optional<Declaration> get(WorkloadId id) {
        return Optional.ofNullable(declarations.get(id));
    }
}
