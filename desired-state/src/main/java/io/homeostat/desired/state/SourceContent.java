package io.homeostat.desired.state;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.StateStore.ToApply;
import java.util.HashSet;
import java.util.Set;

/**
 * All that a source says now.
 *
 * @param documents each workload at most once
 * @param retainedOrigins what can't be read now: what was stored from there stays in force
 * @param problems what is wrong with the source, each of this source; empty when all of it could be read
 */
public record SourceContent(
        SourceName source,
        ImmutableList<ToApply> documents,
        ImmutableSet<String> retainedOrigins,
        ImmutableList<SourceProblem> problems) {

    public SourceContent {
        Set<WorkloadId> ids = new HashSet<>();
        for (ToApply document : documents) {
            if (!ids.add(document.workload().id())) {
                throw new IllegalArgumentException(
                        source.word() + " declares " + document.workload().id() + " twice");
            }
        }
        for (SourceProblem problem : problems) {
            if (problem.source() != source) {
                throw new IllegalArgumentException(
                        "a problem of " + problem.source().word() + " in what " + source.word() + " says");
            }
        }
    }
}
