package io.homeostat.reconcile.command.plugin;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedSet;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.Program.Install;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Change;
import io.homeostat.desired.state.ControlPlaneChange;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.StateReader;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.StoredDeclaration;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.reconcile.command.Command;
import io.homeostat.reconcile.command.CommandFailure;
import io.homeostat.reconcile.command.Verb;
import io.homeostat.reconcile.command.Workspace;
import io.homeostat.reconcile.command.output.Rivals;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Removes all plugins that were installed dynamically, with their state: those that the control plane or {@code apply} declares, and
 * those that are left and nobody declares. Protected ones stay, and what files and packages declare.
 */
public final class ResetCommand implements Command {
    private final Workspace workspace;
    private final boolean yes;
    private final Duration timeout;

    public ResetCommand(Workspace workspace, boolean yes, Duration timeout) {
        this.workspace = workspace;
        this.yes = yes;
        this.timeout = timeout;
    }

    /** Which plugins go, and who declares them. */
    private record Doomed(
            ImmutableSortedSet<WorkloadId> applied,
            ImmutableSortedSet<WorkloadId> sent,
            ImmutableSortedSet<WorkloadId> abandoned) {
        ImmutableSortedSet<WorkloadId> all() {
            return Stream.of(applied, sent, abandoned)
                    .flatMap(Set::stream)
                    .collect(ImmutableSortedSet.toImmutableSortedSet(WorkloadId::compareTo));
        }
    }

    @Override
    public int run() throws InterruptedException {
        if (!yes) {
            ImmutableSortedSet<WorkloadId> all =
                    workspace.remembered(reader -> doomed(reader).all()).orElse(ImmutableSortedSet.of());
            throw new CommandFailure(
                    all.isEmpty()
                            ? "there is no plugin that would be removed; with --yes this is no error"
                            : "nothing was removed; with --yes these are, with their state: "
                                    + all.stream().map(WorkloadId::toString).collect(Collectors.joining(", ")));
        }
        // Said at the end: while the store is changed nobody may be waited for, a slow reader neither.
        List<String> notes = new ArrayList<>();
        int status = workspace.enforcer().enforce(workspace, Verb.RESET, timeout, store -> withdraw(store, notes));
        notes.forEach(workspace.console()::say);
        return status;
    }

    private void withdraw(StateStore store, List<String> notes) {
        ImmutableList<StoredDeclaration> declarations = store.declarations();
        Doomed doomed = doomed(store);
        store.delete(doomed.applied());
        if (!doomed.sent().isEmpty()) {
            store.receive(new ControlPlaneChange(
                    "", ImmutableList.of(), doomed.sent(), ImmutableMap.of(), ImmutableList.of()));
        }
        for (WorkloadId id : doomed.all()) {
            declarations.stream()
                    .filter(declaration -> declaration.workload().id().equals(id) && !isDoomed(declaration))
                    .findFirst()
                    .ifPresent(other -> notes.add(id + " goes on being declared by " + Rivals.words(other)));
            if (!store.history(id).isOfSomethingDeclared()) {
                store.commit(new Change(
                        id,
                        WorkloadHistory.DELETED,
                        false,
                        ImmutableList.of(),
                        ImmutableList.of(),
                        ImmutableList.of()));
            }
        }
    }

    private Doomed doomed(StateReader reader) {
        ImmutableList<StoredDeclaration> declarations = reader.declarations();
        ImmutableSet<WorkloadId> declared = declarations.stream()
                .map(declaration -> declaration.workload().id())
                .collect(ImmutableSet.toImmutableSet());
        // A process can run on though all of its files are gone.
        Stream<WorkloadId> left = Stream.concat(
                workspace.traces().stream(), reader.instances().stream().map(Instance::workload));
        return new Doomed(
                of(SourceName.APPLIED, declarations),
                of(SourceName.CONTROL_PLANE, declarations),
                left.filter(id -> id.kind().equals(Kind.PLUGIN) && !declared.contains(id) && !isProtected(id))
                        .collect(ImmutableSortedSet.toImmutableSortedSet(WorkloadId::compareTo)));
    }

    private ImmutableSortedSet<WorkloadId> of(SourceName source, ImmutableList<StoredDeclaration> declarations) {
        return declarations.stream()
                .filter(declaration -> declaration.source() == source && isDoomed(declaration))
                .map(declaration -> declaration.workload().id())
                .collect(ImmutableSortedSet.toImmutableSortedSet(WorkloadId::compareTo));
    }

    private boolean isDoomed(StoredDeclaration declaration) {
        WorkloadId id = declaration.workload().id();
        return (declaration.source() == SourceName.APPLIED || declaration.source() == SourceName.CONTROL_PLANE)
                && id.kind().equals(Kind.PLUGIN)
                && declaration.workload().program().install() == Install.DYNAMIC
                && !isProtected(id);
    }

    private boolean isProtected(WorkloadId id) {
        return workspace.enforcer().config().protectedPlugins().contains(id.name());
    }
}
