package io.homeostat.reconcile.command;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.DesiredState;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.source.StoredState;
import io.homeostat.desired.state.StateStore.ToApply;
import io.homeostat.desired.state.StoredDeclaration;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** What would be the desired state after an apply. */
final class AppliedState {
    private AppliedState() {}

    /** The desired state that {@link io.homeostat.desired.store.StateStore#apply} would leave behind, all sources considered. */
    static DesiredState after(
            ImmutableList<StoredDeclaration> stored,
            ImmutableList<ToApply> documents,
            ImmutableSet<String> origins,
            boolean prune) {
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
            applied.put(id, applied(document, before.get(id)));
        }
        return StoredState.desired(result.addAll(applied.values()).build());
    }

    private static StoredDeclaration applied(ToApply document, @Nullable StoredDeclaration before) {
        String hash = document.document().hash();
        long generation = before == null ? 1 : before.generation() + (hash.equals(before.hash()) ? 0 : 1);
        return new StoredDeclaration(
                SourceName.APPLIED,
                document.workload(),
                document.origin(),
                generation,
                hash,
                document.document().text().length());
    }
}
