package io.homeostat.reconcile.command;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedSet;
import io.homeostat.desired.model.BriefText;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.DesiredState;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.source.StoredState;
import io.homeostat.desired.state.Event;
import io.homeostat.desired.state.EventType;
import io.homeostat.desired.state.StateReader;
import io.homeostat.desired.state.StateReader.StoredRevision;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.StateStore.Change;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.desired.state.history.WorkloadHistory.FailedRevision;
import io.homeostat.desired.state.history.WorkloadHistory.LastKnownGood;
import io.homeostat.proto.agent.CommandRequest;
import io.homeostat.proto.agent.RollbackRequest;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.environment.ExitStatus;
import io.homeostat.reconcile.command.environment.UsageException;
import io.homeostat.reconcile.command.output.Json;
import io.homeostat.reconcile.command.output.Overtaken;
import io.homeostat.reconcile.command.output.Text;
import io.homeostat.reconcile.command.output.WorkloadResult;
import io.homeostat.reconcile.plan.Work;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Undoes what is declared of workloads, by hand, as a failed upgrade is undone: a former revision runs in its place. Nobody's declaration
 * is changed, so it works for every source, and ends when another one is declared or somebody takes it back.
 *
 * @param to a revision in its history, or its number there; empty: the one that worked before
 */
public record RollbackCommand(Selection selection, Optional<String> to, Duration timeout) implements Command {
    /** Before what is a number and no revision. */
    private static final String NUMBER = "number:";

    public RollbackCommand {
        if (to.isPresent() && to.get().isBlank()) {
            throw new UsageException("--to: empty; homeostat history shows the revisions that there are");
        }
    }

    public static RollbackCommand of(RollbackRequest request) {
        String to = request.getTo() == 0 ? request.getRevision() : NUMBER + request.getTo();
        return new RollbackCommand(
                Selection.of(request.getWorkload(), request.hasSelection(), request.getSelection()),
                to.isEmpty() ? Optional.empty() : Optional.of(to),
                RequestFields.timeout(request.hasTimeout(), request.getTimeout()));
    }

    @Override
    public void write(CommandRequest.Builder request) {
        RollbackRequest.Builder fields =
                RollbackRequest.newBuilder().setRevision(to.orElse("")).setTimeout(RequestFields.timeout(timeout));
        selection.write(fields::setWorkload, fields::setSelection);
        request.setRollback(fields);
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
        if (selection.isOne()) {
            return rollBack(selection.names(), workspace);
        }
        Map<WorkloadId, String> refused = new LinkedHashMap<>();
        ImmutableList<WorkloadId> chosen =
                workspace.remembered(reader -> chosen(reader, refused)).orElse(selection.names());
        if (chosen.isEmpty() && refused.isEmpty()) {
            if (workspace.console().json()) {
                Json.print(workspace.console().out(), WorkloadResult.json(ImmutableList.of()));
            }
            return selection.nothing("that could be rolled back is declared", workspace);
        }
        if (chosen.isEmpty()) {
            throw new CommandFailure(String.join("\n", refused.values()));
        }
        int status = rollBack(chosen, workspace);
        refused.values().forEach(why -> workspace.console().failPart(workspace.word(), why));
        return refused.isEmpty() ? status : ExitStatus.FAILED;
    }

    /**
     * Those that can be rolled back.
     *
     * @param refused gets the others, and why
     */
    private ImmutableList<WorkloadId> chosen(StateReader reader, Map<WorkloadId, String> refused) {
        ImmutableList.Builder<WorkloadId> chosen = ImmutableList.builder();
        for (WorkloadId id : selection.chosen(reader, workload -> !workload.isOneShot())) {
            try {
                former(id, declared(id, reader), reader);
                chosen.add(id);
            } catch (CommandFailure e) {
                refused.put(id, e.getMessage());
            }
        }
        return chosen.build();
    }

    private int rollBack(ImmutableList<WorkloadId> ids, Workspace workspace) throws InterruptedException {
        List<String> notes = new ArrayList<>();
        Map<WorkloadId, String> back = new HashMap<>();
        int status = workspace
                .enforcer()
                .enforce(
                        workspace,
                        new Enforcer.Goal(
                                store -> {
                                    Instant now =
                                            workspace.environment().clock().instant();
                                    // All or none, if one of them was withdrawn in the meantime.
                                    ids.forEach(id -> former(id, declared(id, store), store));
                                    for (WorkloadId id : ids) {
                                        store.pause(id)
                                                .ifPresent(pause -> notes.add(
                                                        HoldCommand.former(pause) + "; that ended with this"));
                                        back.put(
                                                id,
                                                rollBack(id, store, now, notes).hash());
                                    }
                                },
                                ids,
                                ImmutableSet.of(Reason.ROLLED_BACK),
                                declared -> Overtaken.rolledBack(declared, back),
                                timeout,
                                ImmutableSet.copyOf(ids)));
        notes.forEach(workspace.console()::say);
        if (status != ExitStatus.OK) {
            back.forEach((id, hash) -> {
                if (workspace.remembered(reader -> stands(id, reader, hash)).orElse(false)) {
                    workspace
                            .console()
                            .say("homeostat rollback " + id + " --to REVISION chooses another one (" + shown(id)
                                    + "), homeostat resume " + id + " goes back to what is declared");
                }
            });
        }
        return status;
    }

    /** Whether it is still this rollback that is in force. */
    private static boolean stands(WorkloadId workload, StateReader reader, String back) {
        WorkloadHistory history = reader.history(workload);
        LastKnownGood good = history.lastKnownGood();
        FailedRevision undone = history.failed();
        return undone != null
                && undone.byRequest()
                && good != null
                && good.hash().equals(back);
    }

    /** @throws CommandFailure when nothing is that could be undone */
    private static Declaration declared(WorkloadId workload, StateReader store) {
        DesiredState desired = StoredState.desired(store.declarations());
        Declaration declared = desired.declarations().get(workload);
        if (declared == null) {
            throw new CommandFailure(workload + " is not declared, so it was not rolled back; "
                    + Text.declared(
                            ImmutableSortedSet.copyOf(desired.declarations().keySet())));
        }
        if (declared.workload().isOneShot()) {
            throw new CommandFailure(workload
                    + " is a one-shot: to go back would run the former revision again; declare it if that is wanted");
        }
        return declared;
    }

    /**
     * The one to go back to.
     *
     * @throws CommandFailure when there is none
     */
    private StoredRevision former(WorkloadId workload, Declaration declared, StateReader store) {
        StoredRevision former = to.isPresent()
                ? named(to.get(), workload, store)
                : underWay(workload, declared, store)
                        .or(() -> HistoryCommand.former(declared.hash(), store, workload))
                        .orElseThrow(() -> new CommandFailure(nothingBefore(workload, declared, store)));
        require(former, declared, store);
        return former;
    }

    /** Of several declarations of a revision the last that worked. A number is one only where it can't be meant as a revision. */
    private static StoredRevision named(String to, WorkloadId workload, StateReader store) {
        ImmutableList<StoredRevision> newestFirst = store.revisions(workload).reverse();
        boolean isNumber = to.startsWith(NUMBER);
        String number = isNumber ? to.substring(NUMBER.length()) : to;
        Optional<StoredRevision> numbered = newestFirst.stream()
                .filter(one -> Integer.toString(one.number()).equals(number))
                .findFirst();
        Predicate<StoredRevision> isNamed =
                one -> !isNumber && one.workload().revision().equals(to);
        Optional<StoredRevision> named = newestFirst.stream()
                .filter(isNamed.and(StoredRevision::wasGood))
                .findFirst()
                .or(() -> newestFirst.stream().filter(isNamed).findFirst());
        if (named.isPresent() && numbered.filter(isNamed.negate()).isPresent()) {
            throw new CommandFailure(workload + ": " + to + " is a revision (number "
                    + named.get().number()
                    + " in the history) and the number of another one ("
                    + BriefText.of(numbered.get().workload().revision()) + "); write --to " + NUMBER
                    + named.get().number() + " or --to " + NUMBER + number);
        }
        return named.or(() -> numbered)
                .orElseThrow(() -> new CommandFailure(workload + " has no revision "
                        + (isNumber ? "with the number " + number : to + ", and none with that number") + "; "
                        + shown(workload)));
    }

    /**
     * Stores that a former revision is to run, and which.
     *
     * @throws CommandFailure when there is nothing to go back to
     */
    private StoredRevision rollBack(WorkloadId workload, StateStore store, Instant now, List<String> notes) {
        Declaration declared = declared(workload, store);
        StoredRevision former = former(workload, declared, store);
        WorkloadHistory history = store.history(workload);
        Optional<FailedRevision> undone = history.undone(declared.hash());
        LastKnownGood good = history.lastKnownGood();
        Workload back = former.workload();
        String declaredRevision = declared.workload().revision();
        String from = declaredRevision;
        String cause = undone.filter(one -> !one.byRequest())
                .map(one -> failure(declaredRevision, one.error()))
                .orElseGet(() -> failure(declaredRevision, history.problem()));
        if (undone.isPresent() && good != null && !good.hash().equals(former.hash())) {
            String standsIn = good.workload().revision();
            LastKnownGood runs = undone.get().meanwhile();
            from = runs == null ? standsIn : runs.workload().revision();
            if (undone.get().byRequest() || !history.problem().isEmpty()) {
                cause = failure(standsIn, history.problem());
            }
        } else if (undone.isPresent() && good != null && undone.get().byRequest()) {
            // Asked for once more: whatever holds it back does so no longer.
            store.resume(workload, undone.get().error(), now);
            store.commit(Change.ofHistory(workload, history.rolledBack(undone.get(), good)));
            return former;
        } else if (undone.isPresent()) {
            notes.add("revision " + BriefText.of(declaredRevision) + " was undone already, and "
                    + BriefText.of(back.revision()) + " ran in its place; " + BriefText.of(declaredRevision)
                    + " is not tried again now until homeostat resume "
                    + workload);
        } else if (good != null && good.hash().equals(former.hash())) {
            // What runs on all the while is "unchanged".
            notes.add("revision " + BriefText.of(declaredRevision)
                    + " had not worked yet, and is not tried again until homeostat resume " + workload);
        }
        String words = "rolled back by request from revision " + BriefText.of(from) + " to "
                + BriefText.of(back.revision()) + " (number "
                + former.number() + ")" + cause;
        LastKnownGood meanwhile = undone.filter(one -> one.byRequest() && one.replacedAt() == null)
                .map(FailedRevision::meanwhile)
                .orElse(good);
        if (meanwhile != null && meanwhile.hash().equals(former.hash())) {
            meanwhile = null;
        }
        store.resume(workload, words, now);
        store.commit(new Change(
                workload,
                history.rolledBack(
                        FailedRevision.byRequest(declared.hash(), from, now, words, meanwhile),
                        new LastKnownGood(back, former.hash(), directory(back))),
                false,
                ImmutableList.of(),
                ImmutableList.of(),
                // What runs on until the other one is here has not been rolled back yet; the launch of that tells it.
                meanwhile == null
                        ? ImmutableList.of(new Event(now, workload, from, EventType.AGENT_ROLLED_BACK, words))
                        : ImmutableList.of()));
        return former;
    }

    /** What an earlier rollback chose, as long as that has never worked: who repeats it does not want to go further back. */
    private static Optional<StoredRevision> underWay(WorkloadId workload, Declaration declared, StateReader store) {
        WorkloadHistory history = store.history(workload);
        LastKnownGood chosen = history.lastKnownGood();
        boolean underWay = !history.standInFails()
                && history.undone(declared.hash())
                        .filter(undone -> undone.byRequest() && undone.replacedAt() == null)
                        .isPresent();
        return !underWay || chosen == null
                ? Optional.empty()
                : store.revisions(workload).stream()
                        .filter(revision -> revision.hash().equals(chosen.hash()) && revision.wasGood())
                        .findFirst();
    }

    private static String nothingBefore(WorkloadId workload, Declaration declared, StateReader store) {
        return store.history(workload)
                .undone(declared.hash())
                .filter(FailedRevision::byRequest)
                .map(undone -> workload + " was " + undone.error()
                        + ", and nothing is remembered that worked before that; homeostat resume " + workload
                        + " takes the rollback back")
                .orElse("nothing is remembered of " + workload + " that worked before"
                        + (store.revisions(workload).stream()
                                        .anyMatch(one -> one.wasGood()
                                                && !one.hash().equals(declared.hash())
                                                && Work.of(one.workload()).equals(Work.of(declared.workload())))
                                ? " and was another program; " + shown(workload) + ", for --to REVISION"
                                : ""));
    }

    /** Why what was to run failed, if it did: the rollback takes the place of that. */
    private static String failure(String revision, String error) {
        return error.isEmpty() ? "" : "; " + BriefText.of(revision) + " had failed: " + error;
    }

    private static void require(StoredRevision former, Declaration declared, StateReader store) {
        WorkloadId workload = declared.id();
        String which = workload + ": number " + former.number() + " ("
                + BriefText.of(former.workload().revision()) + ") ";
        if (former.hash().equals(declared.hash())) {
            throw new CommandFailure(which + "is what is declared now; homeostat resume " + workload
                    + " brings it back if it was rolled back");
        }
        LastKnownGood good = store.history(workload).lastKnownGood();
        boolean worked = (good != null && good.hash().equals(former.hash()))
                || store.revisions(workload).stream()
                        .anyMatch(one -> one.hash().equals(former.hash()) && one.wasGood());
        if (!worked) {
            throw new CommandFailure(
                    which + "was never seen to work" + (former.error().isEmpty() ? "" : ": " + former.error())
                            + "; choose another one, " + shown(workload));
        }
        if (former.workload().isOneShot()) {
            throw new CommandFailure(
                    which + "is a one-shot: to go back would run it again; declare it if that is wanted");
        }
    }

    private static String shown(WorkloadId workload) {
        return "homeostat history " + workload + " shows them";
    }

    private static @Nullable String directory(Workload back) {
        return back.source() == null ? null : Layout.installName(back.id(), back.revision(), null);
    }
}
