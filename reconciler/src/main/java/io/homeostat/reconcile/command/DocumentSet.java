package io.homeostat.reconcile.command;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.DesiredState;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.source.StoredState;
import io.homeostat.desired.state.StateReader.StoredDeclaration;
import io.homeostat.desired.state.StateStore.ToApply;
import io.homeostat.desired.yaml.DocumentReader.NotHere;
import java.util.TreeMap;

/**
 * Valid documents to be applied.
 *
 * @param documents in the form in which they are stored, each with the origin that led to it
 * @param notHere those that are not for this machine, of which nothing is stored
 * @param origins as of {@link DocumentTexts}; empty when none was given
 * @param prune whether to withdraw what an earlier apply of these origins declared and this one doesn't
 */
public record DocumentSet(
        ImmutableList<ToApply> documents, ImmutableList<NotHere> notHere, ImmutableSet<String> origins, boolean prune) {
    boolean isNone() {
        return origins.isEmpty();
    }

    ImmutableSet<WorkloadId> ids() {
        return documents.stream().map(document -> document.workload().id()).collect(ImmutableSet.toImmutableSet());
    }

    /** What these documents withdraw. */
    ImmutableList<WorkloadId> pruned(ImmutableList<StoredDeclaration> stored) {
        ImmutableSet<WorkloadId> stays = ids();
        return stored.stream()
                .filter(declaration ->
                        prune && declaration.source() == SourceName.APPLIED && origins.contains(declaration.origin()))
                .map(declaration -> declaration.workload().id())
                .filter(id -> !stays.contains(id))
                .collect(ImmutableList.toImmutableList());
    }

    /** The desired state that {@link io.homeostat.desired.state.StateStore#apply} would leave behind, all sources considered. */
    DesiredState appliedTo(ImmutableList<StoredDeclaration> stored) {
        ImmutableList.Builder<StoredDeclaration> result = ImmutableList.builder();
        TreeMap<WorkloadId, StoredDeclaration> before = new TreeMap<>();
        for (StoredDeclaration declaration : stored) {
            if (declaration.source() == SourceName.APPLIED) {
                before.put(declaration.workload().id(), declaration);
            } else {
                result.add(declaration);
            }
        }
        TreeMap<WorkloadId, StoredDeclaration> applied = new TreeMap<>(before);
        if (prune) {
            applied.values().removeIf(declaration -> origins.contains(declaration.origin()));
        }
        for (ToApply document : documents) {
            WorkloadId id = document.workload().id();
            applied.put(id, document.stored(SourceName.APPLIED, before.get(id)));
        }
        return StoredState.desired(result.addAll(applied.values()).build());
    }
}
