package io.homeostat.reconcile.command.output;

import com.google.common.collect.ImmutableCollection;
import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.DesiredState;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.StateReader.StoredDeclaration;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** What people have to know of the other sources of a workload that they apply or delete. */
public final class SourceConflicts {
    private SourceConflicts() {}

    /** A line for each of these workloads that a stronger source declares as well, so that applying it has no effect yet. */
    public static ImmutableList<String> overruled(ImmutableCollection<WorkloadId> applied, DesiredState desired) {
        return applied.stream()
                .flatMap(id -> desired.get(id).stream())
                .filter(winner -> winner.source() != SourceName.APPLIED)
                .map(SourceConflicts::overruled)
                .collect(ImmutableList.toImmutableList());
    }

    private static String overruled(Declaration winner) {
        return winner.id() + ": " + winner.source().word()
                + " declares it, too, and is stronger; what is applied comes into force when it no longer does";
    }

    /** The winners over weaker sources. */
    public static ImmutableList<Declaration> contested(DesiredState desired) {
        return desired.declarations().values().stream()
                .filter(winner -> !winner.overruled().isEmpty())
                .collect(ImmutableList.toImmutableList());
    }

    /** "plugin/a: as controlPlane declares it, which overrules files". */
    public static String words(Declaration winner) {
        return winner.id() + ": as " + winner.source().word() + " declares it, which overrules "
                + winner.overruled().stream().map(SourceName::word).collect(Collectors.joining(", "));
    }

    /** What other sources say of a workload, the strongest first. */
    public static ImmutableList<StoredDeclaration> of(
            WorkloadId id, ImmutableCollection<StoredDeclaration> declarations) {
        Stream<StoredDeclaration> others = declarations.stream()
                .filter(declaration -> declaration.source() != SourceName.APPLIED)
                .filter(declaration -> declaration.workload().id().equals(id));
        return ImmutableList.sortedCopyOf((one, other) -> one.source().compareTo(other.source()), others.toList());
    }

    /** "files (/etc/homeostat/desired.d/a.yaml)". */
    public static String words(StoredDeclaration declaration) {
        return declaration.source().word() + " (" + declaration.origin() + ")";
    }
}
