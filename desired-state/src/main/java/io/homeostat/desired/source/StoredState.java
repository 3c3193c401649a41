package io.homeostat.desired.source;

import com.google.common.collect.ImmutableCollection;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.DesiredState;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.StateReader.StoredDeclaration;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.StateStore.SourceContent;
import io.homeostat.desired.state.StateStore.ToApply;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;

/** The desired state from what all sources have stored: the one that plan, status, apply and the agent use. */
public final class StoredState {
    private StoredState() {}

    /** Every declared workload, by its strongest source. */
    public static DesiredState desired(ImmutableCollection<StoredDeclaration> declarations) {
        return merge(declarations.stream().map(StoredState::declaration).collect(ImmutableList.toImmutableList()));
    }

    /** What {@link StateStore#replace} would leave stored. */
    public static ImmutableList<StoredDeclaration> replaced(
            ImmutableCollection<StoredDeclaration> stored, SourceContent content) {
        Map<WorkloadId, StoredDeclaration> before = new TreeMap<>();
        ImmutableList.Builder<StoredDeclaration> result = ImmutableList.builder();
        for (StoredDeclaration declaration : stored) {
            if (declaration.source() == content.source()) {
                before.put(declaration.workload().id(), declaration);
            } else {
                result.add(declaration);
            }
        }
        for (ToApply document : content.documents()) {
            result.add(document.stored(
                    content.source(), before.remove(document.workload().id())));
        }
        before.values().stream()
                .filter(declaration -> content.retainedOrigins().contains(declaration.origin()))
                .forEach(result::add);
        return result.build();
    }

    private static Declaration declaration(StoredDeclaration stored) {
        return new Declaration(
                stored.workload(), stored.source(), stored.generation(), stored.hash(), ImmutableList.of());
    }

    /**
     * One declaration per workload: where several sources declare one, the earliest in the order of {@link SourceName} wins.
     *
     * @throws IllegalArgumentException if one source declares a workload twice
     */
    static DesiredState merge(ImmutableCollection<Declaration> declarations) {
        Map<WorkloadId, SortedMap<SourceName, Declaration>> rivals = new TreeMap<>();
        for (Declaration declaration : declarations) {
            Declaration other = rivals.computeIfAbsent(declaration.id(), id -> new TreeMap<>())
                    .put(declaration.source(), declaration);
            if (other != null) {
                throw new IllegalArgumentException(
                        declaration.source().word() + " declares " + declaration.id() + " twice");
            }
        }
        ImmutableSortedMap.Builder<WorkloadId, Declaration> winners = ImmutableSortedMap.naturalOrder();
        rivals.forEach((id, bySource) -> winners.put(id, winner(bySource)));
        return new DesiredState(winners.buildOrThrow());
    }

    private static Declaration winner(SortedMap<SourceName, Declaration> bySource) {
        Declaration strongest = bySource.sequencedValues().getFirst();
        return new Declaration(
                strongest.workload(),
                strongest.source(),
                strongest.generation(),
                strongest.hash(),
                bySource.keySet().stream().skip(1).collect(ImmutableList.toImmutableList()));
    }
}
