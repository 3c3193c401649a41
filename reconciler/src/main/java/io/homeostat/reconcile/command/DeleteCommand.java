package io.homeostat.reconcile.command;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedSet;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.StateReader.StoredDeclaration;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.StateStore.Change;
import io.homeostat.desired.state.StateStore.ControlPlaneChange;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.proto.agent.CommandRequest;
import io.homeostat.proto.agent.WorkloadsRequest;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.output.SourceConflicts;
import io.homeostat.reconcile.command.output.Text;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** Takes workloads out of what was applied and removes them, waiting up to {@code timeout} until they are gone. */
public record DeleteCommand(ImmutableList<WorkloadId> workloads, Duration timeout) implements Command {
    public static DeleteCommand of(WorkloadsRequest request) {
        return new DeleteCommand(
                RequestFields.someWorkloads(request.getWorkloadsList()),
                RequestFields.timeout(request.hasTimeout(), request.getTimeout()));
    }

    @Override
    public void write(CommandRequest.Builder request) {
        request.setDelete(WorkloadsRequest.newBuilder()
                .addAllWorkloads(RequestFields.words(workloads))
                .setTimeout(RequestFields.timeout(timeout)));
    }

    @Override
    public boolean onlyLooks() {
        return false;
    }

    @Override
    public int run(Workspace workspace) throws InterruptedException {
        return workspace.enforce(timeout, (store, notes) -> withdraw(workspace, store, notes));
    }

    private void withdraw(Workspace workspace, StateStore store, List<String> notes) {
        ImmutableList<StoredDeclaration> declarations = store.declarations();
        ImmutableSortedSet<WorkloadId> applied = declarations.stream()
                .filter(declaration -> declaration.source() == SourceName.APPLIED)
                .map(declaration -> declaration.workload().id())
                .collect(ImmutableSortedSet.toImmutableSortedSet(WorkloadId::compareTo));
        ImmutableSet<WorkloadId> abandoned = abandoned(workspace, declarations);
        Set<WorkloadId> found = new HashSet<>(workspace.traces());
        // A process can run on though all of its files are gone.
        store.instances().forEach(instance -> found.add(instance.workload()));
        for (WorkloadId id : workloads) {
            ImmutableList<StoredDeclaration> others = SourceConflicts.of(id, declarations);
            boolean ours = applied.contains(id) || abandoned.contains(id);
            if (!ours && !others.isEmpty()) {
                throw new CommandFailure(id + " was not applied, so nothing was deleted; it is declared by "
                        + SourceConflicts.words(others.getFirst()) + remedy(others.getFirst()));
            }
            if (!ours && !found.contains(id)) {
                throw new CommandFailure(id + " was not applied, so nothing was deleted; " + Text.declared(applied));
            }
        }
        store.delete(workloads);
        ImmutableSet<WorkloadId> given =
                workloads.stream().filter(abandoned::contains).collect(ImmutableSet.toImmutableSet());
        if (!given.isEmpty()) {
            store.receive(new ControlPlaneChange(ImmutableList.of(), given, ImmutableMap.of(), ImmutableList.of()));
            given.forEach(id -> notes.add(id + " was declared by a control plane that is not configured any more"));
        }
        for (WorkloadId id : workloads) {
            SourceConflicts.of(id, declarations).stream()
                    .filter(other -> !given.contains(id) || other.source() != SourceName.CONTROL_PLANE)
                    .findFirst()
                    .ifPresent(other -> notes.add(id + " is no longer applied, and goes on being declared by "
                            + SourceConflicts.words(other)));
            if (!store.history(id).isOfSomethingDeclared()) {
                store.commit(Change.ofHistory(id, WorkloadHistory.DELETED));
            }
        }
    }

    /** What a control plane declared that nobody is connected with any more: nobody else could take it back. Only an agent knows that. */
    private static ImmutableSet<WorkloadId> abandoned(
            Workspace workspace, ImmutableList<StoredDeclaration> declarations) {
        Enforcer enforcer = workspace.enforcer();
        if (enforcer.agent().isEmpty() || enforcer.config().sources().controlPlane() != null) {
            return ImmutableSet.of();
        }
        return declarations.stream()
                .filter(declaration -> declaration.source() == SourceName.CONTROL_PLANE)
                .map(declaration -> declaration.workload().id())
                .collect(ImmutableSet.toImmutableSet());
    }

    private static String remedy(StoredDeclaration other) {
        return other.source() == SourceName.CONTROL_PLANE
                ? ", have it removed there; if that control plane is gone for good, take it out of agent.yaml, have the agent read"
                        + " that again, and delete " + other.workload().id() + " then"
                : ", take it out there";
    }
}
