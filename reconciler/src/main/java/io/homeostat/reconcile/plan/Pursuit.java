package io.homeostat.reconcile.plan;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.store.Exit;
import io.homeostat.desired.store.FailedRevision;
import io.homeostat.desired.store.Handle;
import io.homeostat.desired.store.ProvenRevision;
import io.homeostat.observe.Installation;
import io.homeostat.observe.ObservedProcess;
import io.homeostat.reconcile.plan.Step.Stop.Cause;
import io.homeostat.reconcile.plan.Step.Wait;
import java.time.Instant;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The plan for one workload that somebody wants to run. Read from {@link #plan} downwards: which revision is to run now, then
 * what that takes from where the workload is.
 */
final class Pursuit {
    private final Situation situation;
    private final Declaration declared;
    private final List<ObservedProcess> processes;
    private final List<Installation> installations;
    private final Optional<String> active;
    private final Draft draft;

    Pursuit(
            Situation situation,
            Declaration declared,
            List<ObservedProcess> processes,
            List<Installation> installations,
            Optional<String> active) {
        this.situation = situation;
        this.declared = declared;
        this.processes = processes;
        this.installations = installations;
        this.active = active;
        this.draft = new Draft(situation);
    }

    WorkloadPlan plan() {
        Target wanted = Target.of(declared.workload(), declared.hash(), installations);
        Target lastGood = lastGood();
        ObservedProcess current = stopSurplus();
        FailedRevision failed = situation.history().failed();
        if (lastGood != null && failed != null && failed.hash().equals(declared.hash())) {
            Instant retry = Pauses.afterUndone(situation, failed);
            if (situation.now().isBefore(retry)) {
                holdAtLastGood(lastGood, current, failed, retry);
                return draft.build();
            }
        }
        boolean lastGoodIsQuicker = lastGood != null
                && !wanted.installed()
                && (lastGood.installed()
                        || situation.history().trial().install().count() > 0);
        if (lastGoodIsQuicker && !runs(lastGood, current)) {
            // The old revision is kept running until the new one is ready to take its place.
            courseTo(Objects.requireNonNull(lastGood)).bring(current);
            return draft.build();
        }
        courseTo(wanted).bring(current);
        collectGarbage(wanted, null);
        return draft.build();
    }

    private Course courseTo(Target target) {
        return new Course(situation, declared, draft, target, active);
    }

    private @Nullable Target lastGood() {
        ProvenRevision proven = situation.history().proven();
        return proven == null || proven.hash().equals(declared.hash()) ? null : Target.of(proven, installations);
    }

    private boolean isProven(Target target) {
        ProvenRevision proven = situation.history().proven();
        return proven != null && proven.hash().equals(target.hash());
    }

    /** Never two at once: of several processes only the newest one that lives may stay. */
    private @Nullable ObservedProcess stopSurplus() {
        ObservedProcess newest = null;
        for (ObservedProcess process : processes) {
            if (process.liveness() instanceof ObservedProcess.Liveness.Orphaned(Exit exit, int survivors)) {
                draft.because(
                        Action.RESTART,
                        Reason.PROCESS_EXITED,
                        "process " + exit.words() + " and left " + survivors + " of its children behind");
                draft.stop(process.handle(), Cause.SURPLUS);
                continue;
            }
            if (newest != null) {
                draft.because(Action.STOP, Reason.PROCESS_SURPLUS, "more than one process of it runs");
                if (!Planner.waitIfPending(draft, situation, newest)) {
                    draft.stop(newest.handle(), Cause.SURPLUS);
                }
            }
            newest = process;
        }
        return newest;
    }

    private void holdAtLastGood(
            Target lastGood, @Nullable ObservedProcess current, FailedRevision failed, Instant retry) {
        courseTo(lastGood).bring(current);
        Target wanted = Target.of(declared.workload(), declared.hash(), installations);
        collectGarbage(lastGood, wanted.directory());
        if (draft.isEmpty()) {
            draft.waitFor(
                    Reason.REVISION_FAILED,
                    "revision " + failed.revision() + " failed and was undone, "
                            + lastGood.workload().revision() + " runs instead: " + failed.error(),
                    retry,
                    Wait.Kind.RETRY);
        }
    }

    private static boolean runs(@Nullable Target target, @Nullable ObservedProcess current) {
        return target != null
                && current != null
                && current.handle().start() == Handle.StartState.SUCCEEDED
                && LaunchInputs.difference(current.handle(), target.program(), target.directory())
                        .isEmpty();
    }

    /** What nothing refers to once {@code running} runs: a forecast while there is something else to do before. */
    private void collectGarbage(Target running, @Nullable String alsoKept) {
        if (draft.isHeld() || (draft.isEmpty() && !isProven(running))) {
            return;
        }
        Set<String> kept = new HashSet<>();
        if (running.directory() != null) {
            kept.add(running.directory());
        }
        if (alsoKept != null) {
            kept.add(alsoKept);
        }
        ImmutableList<String> garbage = installations.stream()
                .map(Installation::directory)
                .filter(directory -> !kept.contains(directory))
                .collect(ImmutableList.toImmutableList());
        if (!garbage.isEmpty()) {
            draft.because(Action.CLEANUP, Reason.SUPERSEDED_REVISION, "a superseded revision is left on disk");
            draft.add(new Step.CollectGarbage(situation.id(), garbage));
        }
    }
}
