package io.homeostat.reconcile.command;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedSet;
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
import io.homeostat.reconcile.command.output.Overtaken;
import io.homeostat.reconcile.command.output.Text;
import io.homeostat.reconcile.plan.Work;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Undoes what is declared of a workload, by hand, as a failed upgrade is undone: a former revision runs in its place. Nobody's declaration
 * is changed, so it works for every source, and ends when another one is declared or somebody takes it back.
 *
 * @param to the number of a revision in its history; empty: the one that worked before
 */
public record RollbackCommand(WorkloadId workload, OptionalInt to, Duration timeout) implements Command {
    public RollbackCommand {
        if (to.isPresent() && to.getAsInt() < 1) {
            throw new UsageException(
                    "--to: " + to.getAsInt() + " is no number of a revision; homeostat history shows them");
        }
    }

    public static RollbackCommand of(RollbackRequest request) {
        return new RollbackCommand(
                RequestFields.workload(request.getWorkload()),
                request.getTo() == 0 ? OptionalInt.empty() : OptionalInt.of(request.getTo()),
                RequestFields.timeout(request.hasTimeout(), request.getTimeout()));
    }

    @Override
    public void write(CommandRequest.Builder request) {
        request.setRollback(RollbackRequest.newBuilder()
                .setWorkload(workload.toString())
                .setTo(to.orElse(0))
                .setTimeout(RequestFields.timeout(timeout)));
    }

    @Override
    public boolean onlyLooks() {
        return false;
    }

    @Override
    public int run(Workspace workspace) throws InterruptedException {
        List<String> notes = new ArrayList<>();
        AtomicReference<String> back = new AtomicReference<>("");
        int status = workspace
                .enforcer()
                .enforce(
                        workspace,
                        new Enforcer.Goal(
                                store -> {
                                    store.pause(workload)
                                            .ifPresent(pause ->
                                                    notes.add(HoldCommand.former(pause) + "; that ended with this"));
                                    back.set(rollBack(
                                                    store,
                                                    workspace
                                                            .environment()
                                                            .clock()
                                                            .instant(),
                                                    notes)
                                            .hash());
                                },
                                ImmutableList.of(workload),
                                ImmutableSet.of(Reason.ROLLED_BACK),
                                declared -> Overtaken.rolledBack(declared, back.get()),
                                timeout));
        notes.forEach(workspace.console()::say);
        if (status != ExitStatus.OK
                && workspace.remembered(reader -> stands(reader, back.get())).orElse(false)) {
            workspace
                    .console()
                    .say("homeostat rollback " + workload + " --to NUMBER chooses another revision (" + shown()
                            + "), homeostat resume " + workload + " goes back to what is declared");
        }
        return status;
    }

    /** Whether it is still this rollback that is in force. */
    private boolean stands(StateReader reader, String back) {
        WorkloadHistory history = reader.history(workload);
        LastKnownGood good = history.lastKnownGood();
        FailedRevision undone = history.failed();
        return undone != null
                && undone.byRequest()
                && good != null
                && good.hash().equals(back);
    }

    /**
     * Stores that a former revision is to run, and which.
     *
     * @throws CommandFailure when there is nothing to go back to
     */
    private StoredRevision rollBack(StateStore store, Instant now, List<String> notes) {
        DesiredState desired = StoredState.desired(store.declarations());
        Declaration declared = desired.declarations().get(workload);
        if (declared == null) {
            throw new CommandFailure(workload + " is not declared, so nothing was rolled back; "
                    + Text.declared(
                            ImmutableSortedSet.copyOf(desired.declarations().keySet())));
        }
        if (declared.workload().isOneShot()) {
            throw new CommandFailure(workload
                    + " is a one-shot: to go back would run the former revision again; declare it if that is wanted");
        }
        WorkloadHistory history = store.history(workload);
        StoredRevision former = underWay(history, declared, store)
                .or(() -> HistoryCommand.former(to, declared.hash(), store, workload))
                .orElseThrow(() -> new CommandFailure(
                        to.isEmpty()
                                ? nothingBefore(history, declared, store)
                                : workload + " has no revision number " + to.getAsInt() + "; " + shown()));
        require(former, declared, store);
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
            notes.add("revision " + declaredRevision + " was undone already, and " + back.revision()
                    + " ran in its place; " + declaredRevision + " is not tried again now until homeostat resume "
                    + workload);
        } else if (good != null && good.hash().equals(former.hash())) {
            // What runs on all the while is "unchanged".
            notes.add("revision " + declaredRevision
                    + " had not worked yet, and is not tried again until homeostat resume " + workload);
        }
        String words = "rolled back by request from revision " + from + " to " + back.revision() + " (number "
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
    private Optional<StoredRevision> underWay(WorkloadHistory history, Declaration declared, StateStore store) {
        LastKnownGood chosen = history.lastKnownGood();
        boolean underWay = to.isEmpty()
                && !history.standInFails()
                && history.undone(declared.hash())
                        .filter(undone -> undone.byRequest() && undone.replacedAt() == null)
                        .isPresent();
        return !underWay || chosen == null
                ? Optional.empty()
                : store.revisions(workload).stream()
                        .filter(revision -> revision.hash().equals(chosen.hash()) && revision.wasGood())
                        .findFirst();
    }

    private String nothingBefore(WorkloadHistory history, Declaration declared, StateReader store) {
        return history.undone(declared.hash())
                .filter(FailedRevision::byRequest)
                .map(undone -> workload + " was " + undone.error()
                        + ", and nothing is remembered that worked before that; homeostat resume " + workload
                        + " takes the rollback back")
                .orElse("nothing is remembered of " + workload + " that worked before"
                        + (store.revisions(workload).stream()
                                        .anyMatch(one -> one.wasGood()
                                                && !one.hash().equals(declared.hash())
                                                && Work.of(one.workload()).equals(Work.of(declared.workload())))
                                ? " and was another program; " + shown() + ", for --to NUMBER"
                                : ""));
    }

    /** Why what was to run failed, if it did: the rollback takes the place of that. */
    private static String failure(String revision, String error) {
        return error.isEmpty() ? "" : "; " + revision + " had failed: " + error;
    }

    private void require(StoredRevision former, Declaration declared, StateStore store) {
        String which = "number " + former.number() + " (" + former.workload().revision() + ") ";
        if (former.hash().equals(declared.hash())) {
            throw new CommandFailure(which + "is what is declared now; homeostat resume " + workload
                    + " brings it back if it was rolled back");
        }
        LastKnownGood good = store.history(workload).lastKnownGood();
        boolean worked = (good != null && good.hash().equals(former.hash()))
                || store.revisions(workload).stream()
                        .anyMatch(one -> one.hash().equals(former.hash()) && one.wasGood());
        if (!worked) {
            throw new CommandFailure(which + "was never seen to work"
                    + (former.error().isEmpty() ? "" : ": " + former.error()) + "; choose another one, " + shown());
        }
        if (former.workload().isOneShot()) {
            throw new CommandFailure(
                    which + "is a one-shot: to go back would run it again; declare it if that is wanted");
        }
    }

    private String shown() {
        return "homeostat history " + workload + " shows them";
    }

    private static @Nullable String directory(Workload back) {
        return back.source() == null ? null : Layout.installName(back.id(), back.revision(), null);
    }
}
