package io.homeostat.reconcile.command;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedSet;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.DesiredState;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.source.StoredState;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.StateReader;
import io.homeostat.desired.state.StateReader.StoredDeclaration;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.StateStore.Change;
import io.homeostat.desired.state.StateStore.ControlPlaneChange;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.proto.agent.CommandRequest;
import io.homeostat.proto.agent.WorkloadsRequest;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.environment.ExitStatus;
import io.homeostat.reconcile.command.output.Console;
import io.homeostat.reconcile.command.output.Json;
import io.homeostat.reconcile.command.output.SourceConflicts;
import io.homeostat.reconcile.command.output.Text;
import io.homeostat.reconcile.command.output.WorkloadResult;
import io.homeostat.reconcile.plan.DependencyGraph;
import java.time.Duration;
import java.time.Instant;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Takes workloads out of what was applied and removes them, waiting up to {@code timeout} until they are gone. */
public record DeleteCommand(Selection selection, Duration timeout) implements Command {
    public static DeleteCommand of(WorkloadsRequest request) {
        return new DeleteCommand(
                Selection.of(request), RequestFields.timeout(request.hasTimeout(), request.getTimeout()));
    }

    @Override
    public void write(CommandRequest.Builder request) {
        request.setDelete(selection.request().setTimeout(RequestFields.timeout(timeout)));
    }

    @Override
    public boolean onlyLooks() {
        return false;
    }

    @Override
    public int run(Workspace workspace) throws InterruptedException {
        if (selection.isOpen()) {
            return runOnChosen(workspace);
        }
        ImmutableSet<WorkloadId> unreadable = workspace.unreadable(selection.names());
        if (!unreadable.isEmpty()) {
            // First: what follows reads all documents.
            workspace.enforcer().remember(workspace, unreadable.asList(), store -> store.delete(unreadable));
        }
        Map<WorkloadId, String> refused = new LinkedHashMap<>();
        Set<WorkloadId> deleted = new HashSet<>();
        // By others, which is told when all is done.
        Map<WorkloadId, String> kept = new LinkedHashMap<>();
        int status = workspace.enforce(timeout, deleted, (store, notes) -> {
            deleted.addAll(withdraw(workspace, store, unreadable, notes, refused, kept));
            // How the others fare is the business of whoever declares them now.
            if (!kept.keySet().containsAll(deleted)) {
                deleted.removeAll(kept.keySet());
            }
        });
        if (kept.keySet().containsAll(deleted)) {
            status = ExitStatus.OK;
        }
        // What was applied is taken out, which is all that was asked; whose it is now has to be known.
        kept.values().forEach(workspace.console()::say);
        refused.forEach((id, why) -> workspace
                .console()
                .failPart(
                        workspace.word(), id + " was not applied, so it was not deleted, though others were; " + why));
        return refused.isEmpty() ? status : ExitStatus.FAILED;
    }

    /** Of what other sources declare nothing can be deleted here. */
    private int runOnChosen(Workspace workspace) throws InterruptedException {
        ImmutableSet<WorkloadId> traces = selection.all() ? workspace.traces() : ImmutableSet.of();
        ImmutableList<WorkloadId> chosen =
                workspace.remembered(reader -> chosen(reader, traces)).orElse(ImmutableList.of());
        workspace
                .remembered(reader -> declaredByOthers(reader, chosen))
                .orElse(ImmutableList.of())
                .forEach(other -> workspace
                        .console()
                        .say(other.workload().id() + " stays: it is declared by " + SourceConflicts.words(other)));
        ImmutableList<WorkloadId> unknown =
                workspace.remembered(reader -> unknown(reader, traces)).orElse(traces.asList());
        int status =
                chosen.isEmpty() ? nothing(workspace) : new DeleteCommand(Selection.of(chosen), timeout).run(workspace);
        unknown.forEach(id -> workspace
                .console()
                .failPart(
                        workspace.word(),
                        id + " stays: nothing is remembered of it, so a file may declare it; delete it by its name"));
        return unknown.isEmpty() ? status : ExitStatus.FAILED;
    }

    private int nothing(Workspace workspace) {
        Console console = workspace.console();
        if (console.json()) {
            Json.print(console.out(), WorkloadResult.json(ImmutableList.of()));
        }
        return selection.nothing("was applied", workspace);
    }

    /** What is on the machine, and was left there by a database that is lost: nobody knows whose it is. */
    private static ImmutableList<WorkloadId> unknown(StateReader reader, ImmutableSet<WorkloadId> traces) {
        Set<WorkloadId> declared = declared(reader.declarations());
        return traces.stream()
                .filter(id -> !declared.contains(id) && !reader.history(id).isOfSomethingDeclared())
                .sorted()
                .collect(ImmutableList.toImmutableList());
    }

    private static Set<WorkloadId> declared(ImmutableList<StoredDeclaration> declarations) {
        return declarations.stream().map(one -> one.workload().id()).collect(Collectors.toSet());
    }

    /** What the selection means as well and is not the applier's. */
    private ImmutableList<StoredDeclaration> declaredByOthers(StateReader reader, ImmutableList<WorkloadId> chosen) {
        return reader.declarations().stream()
                .filter(one -> one.source() != SourceName.APPLIED
                        && !chosen.contains(one.workload().id())
                        && Selection.has(one.workload(), selection.labels()))
                .collect(ImmutableList.toImmutableList());
    }

    /**
     * What was applied, and with {@code --all} also what was withdrawn before and is not gone yet.
     *
     * @param traces of whatever is on the machine
     */
    private ImmutableList<WorkloadId> chosen(StateReader reader, ImmutableSet<WorkloadId> traces) {
        ImmutableList<StoredDeclaration> declarations = reader.declarations();
        ImmutableList<WorkloadId> applied = selection.among(
                declarations.stream()
                        .filter(declaration -> declaration.source() == SourceName.APPLIED)
                        .map(StoredDeclaration::workload),
                workload -> true);
        if (!selection.all()) {
            return applied;
        }
        Set<WorkloadId> declared = declared(declarations);
        Stream<WorkloadId> left = Stream.concat(
                        traces.stream(), reader.instances().stream().map(Instance::workload))
                .filter(id -> !declared.contains(id) && reader.history(id).isOfSomethingDeclared());
        return Stream.concat(applied.stream(), left).distinct().sorted().collect(ImmutableList.toImmutableList());
    }

    /**
     * Returns those that were.
     *
     * @param unreadable were applied, and are deleted already
     * @throws CommandFailure when none of them can be withdrawn
     */
    private ImmutableList<WorkloadId> withdraw(
            Workspace workspace,
            StateStore store,
            ImmutableSet<WorkloadId> unreadable,
            List<String> notes,
            Map<WorkloadId, String> refused,
            Map<WorkloadId, String> kept) {
        ImmutableList<StoredDeclaration> declarations = store.declarations();
        ImmutableSortedSet<WorkloadId> applied = declarations.stream()
                .filter(declaration -> declaration.source() == SourceName.APPLIED)
                .map(declaration -> declaration.workload().id())
                .collect(ImmutableSortedSet.toImmutableSortedSet(WorkloadId::compareTo));
        ImmutableSortedSet<WorkloadId> declared = declarations.stream()
                .map(declaration -> declaration.workload().id())
                .collect(ImmutableSortedSet.toImmutableSortedSet(WorkloadId::compareTo));
        ImmutableSet<WorkloadId> abandoned = abandoned(workspace, declarations);
        Set<WorkloadId> found = new HashSet<>(workspace.traces());
        // A process can run on though all of its files are gone.
        store.instances().forEach(instance -> found.add(instance.workload()));
        ImmutableSet.Builder<WorkloadId> deletable = ImmutableSet.builder();
        for (WorkloadId id : ImmutableSet.copyOf(selection.names())) {
            ImmutableList<StoredDeclaration> others = SourceConflicts.of(id, declarations);
            if (applied.contains(id)
                    || unreadable.contains(id)
                    || abandoned.contains(id)
                    || (others.isEmpty() && found.contains(id))) {
                deletable.add(id);
            } else if (others.isEmpty()) {
                refused.put(id, Text.declared(others(declared)));
            } else {
                refused.put(
                        id,
                        "it is declared by " + SourceConflicts.words(others.getFirst()) + remedy(others.getFirst()));
            }
        }
        ImmutableList<WorkloadId> here = deletable.build().asList();
        if (here.isEmpty()) {
            throw new CommandFailure(refused.entrySet().stream()
                    .map(one -> one.getKey() + " was not applied, so nothing was deleted; " + one.getValue())
                    .collect(Collectors.joining("\n")));
        }
        store.delete(here);
        // What could not be removed before may have had its cause removed meanwhile.
        store.retryNow(here);
        ImmutableSet<WorkloadId> given =
                here.stream().filter(abandoned::contains).collect(ImmutableSet.toImmutableSet());
        if (!given.isEmpty()) {
            store.receive(new ControlPlaneChange(ImmutableList.of(), given, ImmutableMap.of(), ImmutableList.of()));
            given.forEach(id -> notes.add(id + " was declared by a control plane that is not configured any more"));
        }
        for (WorkloadId id : here) {
            SourceConflicts.of(id, declarations).stream()
                    .filter(other -> !given.contains(id) || other.source() != SourceName.CONTROL_PLANE)
                    .findFirst()
                    .ifPresent(other -> kept.put(
                            id,
                            id + " is no longer applied, and goes on being declared by " + SourceConflicts.words(other)
                                    + remedy(other)));
            if (!store.history(id).isOfSomethingDeclared()) {
                store.commit(Change.ofHistory(id, WorkloadHistory.DELETED));
            }
        }
        here.stream()
                .filter(id -> !kept.containsKey(id) && !found.contains(id))
                .forEach(id -> notes.add(id + " is no longer declared; nothing of it was on this machine"));
        notes.addAll(bereft(here, StoredState.desired(store.declarations())));
        Instant now = workspace.environment().clock().instant();
        here.stream()
                .filter(id -> !kept.containsKey(id))
                .forEach(id -> HoldCommand.endWithDeclaration(store, id, found.contains(id), now));
        return here;
    }

    /** Who runs on without what he depends on. */
    private static ImmutableList<String> bereft(ImmutableList<WorkloadId> deleted, DesiredState desired) {
        return desired.declarations().values().stream()
                .map(Declaration::workload)
                .flatMap(workload -> DependencyGraph.needs(workload).stream()
                        .filter(needed ->
                                deleted.contains(needed) && desired.get(needed).isEmpty())
                        .map(needed -> workload.id() + " depends on " + needed
                                + ", which was deleted: it is not started again until that is declared"))
                .collect(ImmutableList.toImmutableList());
    }

    /** Without those that are deleted with it. */
    private ImmutableSortedSet<WorkloadId> others(ImmutableSortedSet<WorkloadId> declared) {
        return declared.stream()
                .filter(id -> !selection.names().contains(id))
                .collect(ImmutableSortedSet.toImmutableSortedSet(WorkloadId::compareTo));
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
