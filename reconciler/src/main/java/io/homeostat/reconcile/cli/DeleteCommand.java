package io.homeostat.reconcile.cli;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedSet;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.store.Change;
import io.homeostat.desired.store.StateStore;
import io.homeostat.desired.store.StoredDeclaration;
import io.homeostat.desired.store.WorkloadHistory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** Takes workloads out of what was applied and removes them from the machine. */
final class DeleteCommand implements Command {
    private final Workspace workspace;
    private final ImmutableList<WorkloadId> ids;
    private final Duration timeout;

    DeleteCommand(Workspace workspace, ImmutableList<WorkloadId> ids, Duration timeout) {
        this.workspace = workspace;
        this.ids = ids;
        this.timeout = timeout;
    }

    @Override
    public int run() throws InterruptedException {
        // Said at the end: while the store is changed nobody may be waited for, a slow reader neither.
        List<String> notes = new ArrayList<>();
        int status = workspace.enforcer().enforce(workspace, Verb.DELETE, timeout, store -> withdraw(store, notes));
        notes.forEach(workspace.console()::say);
        return status;
    }

    private void withdraw(StateStore store, List<String> notes) {
        ImmutableList<StoredDeclaration> declarations = store.declarations();
        ImmutableSortedSet<WorkloadId> applied = declarations.stream()
                .filter(declaration -> declaration.source() == SourceName.APPLIED)
                .map(declaration -> declaration.workload().id())
                .collect(ImmutableSortedSet.toImmutableSortedSet(WorkloadId::compareTo));
        Set<WorkloadId> found = new HashSet<>(workspace.traces());
        // A process can run on though all of its files are gone.
        store.handles().forEach(handle -> found.add(handle.workload()));
        for (WorkloadId id : ids) {
            ImmutableList<StoredDeclaration> others = Rivals.of(id, declarations);
            if (!applied.contains(id) && !others.isEmpty()) {
                throw new CommandFailure(id + " was not applied, so nothing was deleted; it is declared by "
                        + Rivals.words(others.getFirst()) + ", take it out there");
            }
            if (!applied.contains(id) && !found.contains(id)) {
                throw new CommandFailure(id + " was not applied, so nothing was deleted; " + Declared.words(applied));
            }
        }
        store.delete(ids);
        for (WorkloadId id : ids) {
            Rivals.of(id, declarations).stream()
                    .findFirst()
                    .ifPresent(other -> notes.add(
                            id + " is no longer applied, and goes on being declared by " + Rivals.words(other)));
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
}
