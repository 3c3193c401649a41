package io.homeostat.desired.source;

import com.google.common.collect.ImmutableCollection;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableListMultimap;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.StateReader.StoredDeclaration;
import java.nio.file.Path;
import java.util.Map;

/** What is in force of one source from when it was last read: the workloads by the file they came from. */
public record StoredWorkloads(ImmutableListMultimap<String, Workload> byOrigin) {
    /** The part of all declarations that is this source's. */
    public static StoredWorkloads of(SourceName source, ImmutableCollection<StoredDeclaration> declarations) {
        ImmutableListMultimap.Builder<String, Workload> byOrigin = ImmutableListMultimap.builder();
        for (StoredDeclaration declaration : declarations) {
            if (declaration.source() == source) {
                byOrigin.put(declaration.origin(), declaration.workload());
            }
        }
        return new StoredWorkloads(byOrigin.build());
    }

    ImmutableSet<String> origins() {
        return byOrigin.keySet();
    }

    ImmutableMap<WorkloadId, String> originById() {
        return byOrigin.entries().stream()
                .collect(ImmutableMap.toImmutableMap(entry -> entry.getValue().id(), Map.Entry::getKey));
    }

    ImmutableList<Workload> from(String origin) {
        return byOrigin.get(origin);
    }

    /** The origins that are this file, or stand in this directory or deeper. */
    ImmutableSet<String> atOrBelow(String path) {
        Path top = Path.of(path);
        return origins().stream()
                .filter(origin -> origin.equals(path) || Path.of(origin).startsWith(top))
                .collect(ImmutableSet.toImmutableSet());
    }

    boolean anyBelow(Path directory) {
        return origins().stream()
                .map(Path::of)
                .anyMatch(origin -> origin.startsWith(directory) && !origin.equals(directory));
    }
}
