package io.homeostat.reconcile.command.plugin;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedSet;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.Program.Install;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.StateReader;
import io.homeostat.desired.state.StateReader.StoredDeclaration;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.StateStore.Change;
import io.homeostat.desired.state.StateStore.ControlPlaneChange;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.proto.agent.CommandRequest;
import io.homeostat.proto.agent.ResetRequest;
import io.homeostat.reconcile.command.Command;
import io.homeostat.reconcile.command.RequestFields;
import io.homeostat.reconcile.command.Workspace;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.output.SourceConflicts;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Removes all dynamically installed plugins with their state: what the control plane or {@code apply} declares, and what nobody declares.
 * Protected plugins stay, and what files and packages declare. Without {@code yes} it only says what would be removed.
 */
public record ResetCommand(boolean yes, Duration timeout) implements Command {
    public static ResetCommand of(ResetRequest request) {
        return new ResetCommand(request.getYes(), RequestFields.timeout(request.hasTimeout(), request.getTimeout()));
    }

    @Override
    public void write(CommandRequest.Builder request) {
        request.setReset(ResetRequest.newBuilder().setYes(yes).setTimeout(RequestFields.timeout(timeout)));
    }

    @Override
    public boolean onlyLooks() {
        return false;
    }

    /** Which plugins are protected. */
    @Override
    public boolean needsConfiguration() {
        return true;
    }

    /** Which plugins go, and who declares them. */
    private record Removal(
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
    public int run(Workspace workspace) throws InterruptedException {
        if (!yes) {
            ImmutableSortedSet<WorkloadId> all = workspace
                    .remembered(reader -> removal(reader, workspace).all())
                    .orElse(ImmutableSortedSet.of());
            throw new CommandFailure(
                    all.isEmpty()
                            ? "there is no plugin that would be removed; with --yes this is no error"
                            : "nothing was removed; with --yes these are, with their state: "
                                    + all.stream().map(WorkloadId::toString).collect(Collectors.joining(", ")));
        }
        return workspace.enforce(timeout, (store, notes) -> withdraw(store, workspace, notes));
    }

    private static void withdraw(StateStore store, Workspace workspace, List<String> notes) {
        ImmutableList<StoredDeclaration> declarations = store.declarations();
        Removal removal = removal(store, workspace);
        store.delete(removal.applied());
        if (!removal.sent().isEmpty()) {
            store.receive(
                    new ControlPlaneChange(ImmutableList.of(), removal.sent(), ImmutableMap.of(), ImmutableList.of()));
        }
        for (WorkloadId id : removal.all()) {
            declarations.stream()
                    .filter(declaration ->
                            declaration.workload().id().equals(id) && !isRemoved(declaration, kept(workspace)))
                    .findFirst()
                    .ifPresent(other -> notes.add(id + " goes on being declared by " + SourceConflicts.words(other)));
            if (!store.history(id).isOfSomethingDeclared()) {
                store.commit(Change.ofHistory(id, WorkloadHistory.DELETED));
            }
        }
    }

    private static Removal removal(StateReader reader, Workspace workspace) {
        ImmutableSet<String> kept = kept(workspace);
        ImmutableList<StoredDeclaration> declarations = reader.declarations();
        ImmutableSet<WorkloadId> declared = declarations.stream()
                .map(declaration -> declaration.workload().id())
                .collect(ImmutableSet.toImmutableSet());
        // A process can run on though all of its files are gone.
        Stream<WorkloadId> left = Stream.concat(
                workspace.traces().stream(), reader.instances().stream().map(Instance::workload));
        return new Removal(
                of(SourceName.APPLIED, declarations, kept),
                of(SourceName.CONTROL_PLANE, declarations, kept),
                left.filter(id -> id.kind().equals(Kind.PLUGIN) && !declared.contains(id) && !kept.contains(id.name()))
                        .collect(ImmutableSortedSet.toImmutableSortedSet(WorkloadId::compareTo)));
    }

    private static ImmutableSortedSet<WorkloadId> of(
            SourceName source, ImmutableList<StoredDeclaration> declarations, ImmutableSet<String> kept) {
        return declarations.stream()
                .filter(declaration -> declaration.source() == source && isRemoved(declaration, kept))
                .map(declaration -> declaration.workload().id())
                .collect(ImmutableSortedSet.toImmutableSortedSet(WorkloadId::compareTo));
    }

    private static boolean isRemoved(StoredDeclaration declaration, ImmutableSet<String> kept) {
        WorkloadId id = declaration.workload().id();
        return (declaration.source() == SourceName.APPLIED || declaration.source() == SourceName.CONTROL_PLANE)
                && id.kind().equals(Kind.PLUGIN)
                && declaration.workload().program().install() == Install.DYNAMIC
                && !kept.contains(id.name());
    }

    private static ImmutableSet<String> kept(Workspace workspace) {
        return ImmutableSet.copyOf(workspace.enforcer().config().protectedPlugins());
    }
}
