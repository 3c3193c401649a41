package io.homeostat.desired.source;

import com.google.common.collect.ImmutableCollection;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.DesiredState;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.WorkloadId;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;

/** Decides who wins where several sources declare the same workload: the earliest in the order of {@link SourceName}. */
public final class Precedence {
    private Precedence() {}

    /**
     * One declaration a workload, each with the sources it overrules, the strongest first.
     *
     * @param declarations of all sources, in any order; what they say of {@link Declaration#overruled} is ignored
     * @throws IllegalArgumentException if one source declares a workload twice
     */
    public static DesiredState merge(ImmutableCollection<Declaration> declarations) {
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
