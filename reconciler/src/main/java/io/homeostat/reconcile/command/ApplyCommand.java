package io.homeostat.reconcile.command;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.Dependencies;
import io.homeostat.desired.model.DesiredState;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.source.StoredState;
import io.homeostat.desired.state.StateReader.StoredDeclaration;
import io.homeostat.desired.state.StateStore.ToApply;
import io.homeostat.proto.agent.ApplyRequest;
import io.homeostat.proto.agent.CommandRequest;
import io.homeostat.reconcile.command.environment.ExitStatus;
import io.homeostat.reconcile.command.environment.UsageException;
import io.homeostat.reconcile.command.output.SourceConflicts;
import io.homeostat.reconcile.plan.DependencyGraph;
import io.homeostat.reconcile.plan.Traits;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

/** Stores documents as desired state, and waits up to {@code timeout} until the machine is there. */
public record ApplyCommand(DocumentTexts documents, Duration timeout) implements Command {
    /** In words that follow the number of errors. */
    public static final String CONSEQUENCE_OF_ERRORS = ", so nothing was stored or changed";

    public static ApplyCommand of(ApplyRequest request) {
        DocumentTexts documents = DocumentTexts.of(request.getDocuments());
        if (documents.isNone()) {
            throw new UsageException("origins: none, and at least one is needed");
        }
        return new ApplyCommand(documents, RequestFields.timeout(request.hasTimeout(), request.getTimeout()));
    }

    @Override
    public void write(CommandRequest.Builder request) {
        request.setApply(
                ApplyRequest.newBuilder().setDocuments(documents.request()).setTimeout(RequestFields.timeout(timeout)));
    }

    @Override
    public boolean onlyLooks() {
        return false;
    }

    @Override
    public boolean needsConfiguration() {
        return true;
    }

    @Override
    public int run(Workspace workspace) throws InterruptedException {
        DocumentSet valid = documents.parse(workspace, CONSEQUENCE_OF_ERRORS);
        if (valid.documents().isEmpty() && !valid.notHere().isEmpty() && !valid.prune()) {
            leftOut(valid).forEach(workspace.console()::say);
            return ExitStatus.OK;
        }
        repair(workspace, valid);
        Set<WorkloadId> asked = new HashSet<>(valid.ids());
        Instant now = workspace.environment().clock().instant();
        ImmutableSet<WorkloadId> traces = documents.prune() ? workspace.traces() : ImmutableSet.of();
        return workspace.enforce(timeout, asked, (store, notes) -> {
            asked.addAll(valid.pruned(store.declarations()));
            ImmutableList<String> takenOver = takenOver(valid, store.declarations());
            ImmutableSet<WorkloadId> withdrawn = store.apply(valid.documents(), valid.origins(), valid.prune());
            Set<WorkloadId> declared =
                    StoredState.desired(store.declarations()).declarations().keySet();
            withdrawn.stream()
                    .filter(id -> !declared.contains(id))
                    .forEach(id -> HoldCommand.endWithDeclaration(
                            store,
                            id,
                            traces.contains(id) || !store.instances(id).isEmpty(),
                            now));
            asked.addAll(prerequisites(valid.ids(), StoredState.desired(store.declarations())));
            notes.addAll(SourceConflicts.overruled(valid.ids(), StoredState.desired(store.declarations())));
            notes.addAll(takenOver);
            notes.addAll(leftOut(valid));
            // Whoever applies has usually removed the cause of a failure, and waits in front of the screen.
            store.retryNow(DependencyGraph.withNeeds(valid.ids(), StoredState.desired(store.declarations()))
                    .asList());
            store.retryUndone(valid.ids().asList(), true)
                    .forEach(id -> notes.add(id + " was rolled back by request, which is taken back"));
        });
    }

    private static ImmutableList<String> leftOut(DocumentSet valid) {
        return valid.notHere().stream()
                .map(left -> left.read().workload().id() + " is not for this machine, so nothing of it was stored: "
                        + left.reason())
                .collect(ImmutableList.toImmutableList());
    }

    /** Stores first what takes the place of documents that can't be read: what follows reads all of them. */
    private static void repair(Workspace workspace, DocumentSet valid) throws InterruptedException {
        ImmutableSet<WorkloadId> unreadable = workspace.unreadable(valid.ids());
        if (!unreadable.isEmpty()) {
            ImmutableList<ToApply> again = valid.documents().stream()
                    .filter(document -> unreadable.contains(document.workload().id()))
                    .collect(ImmutableList.toImmutableList());
            workspace
                    .enforcer()
                    .remember(workspace, unreadable.asList(), store -> store.apply(again, valid.origins(), false));
        }
    }

    /** Whose these were before: nobody else's change of them has an effect from now on. */
    private static ImmutableList<String> takenOver(DocumentSet valid, ImmutableList<StoredDeclaration> stored) {
        ImmutableList.Builder<String> words = ImmutableList.builder();
        for (ToApply document : valid.documents()) {
            WorkloadId id = document.workload().id();
            ImmutableList<StoredDeclaration> others = SourceConflicts.of(id, stored);
            Optional<StoredDeclaration> applied = stored.stream()
                    .filter(one -> one.source() == SourceName.APPLIED
                            && one.workload().id().equals(id))
                    .findFirst();
            if (applied.isEmpty()
                    && !others.isEmpty()
                    && SourceName.APPLIED.compareTo(others.getFirst().source()) < 0) {
                words.add(id + ": what is applied counts from now on, and not what "
                        + SourceConflicts.words(others.getFirst()) + " says; homeostat delete " + id
                        + " gives it back");
            }
            applied.filter(one -> !one.origin().equals(document.origin())
                            && !one.origin().equals(DocumentTexts.STANDARD_INPUT))
                    .ifPresent(one -> words.add(id + ": it was applied from " + one.origin()
                            + " before, which --prune of that path no longer removes"));
        }
        return words.build();
    }

    /** All that these depend on, in any number of steps: without it they can't be as declared. */
    private static Set<WorkloadId> prerequisites(ImmutableSet<WorkloadId> ids, DesiredState desired) {
        Set<WorkloadId> found = new HashSet<>();
        Deque<WorkloadId> open = new ArrayDeque<>(ids);
        while (!open.isEmpty()) {
            Declaration declaration = desired.declarations().get(open.remove());
            if (declaration != null) {
                Workload workload = declaration.workload();
                Stream.concat(Dependencies.of(workload).stream(), Traits.of(workload).parent().stream())
                        .filter(found::add)
                        .forEach(open::add);
            }
        }
        return found;
    }
}
