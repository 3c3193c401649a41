package io.homeostat.reconcile.plan;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.state.history.FailedRevision;
import io.homeostat.desired.state.history.ProvenRevision;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.observe.install.Installation;
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
    private final List<ObservedInstance> processes;
    private final List<Installation> installations;
    private final Optional<String> active;

    Pursuit(
            Situation situation,
            Declaration declared,
            List<ObservedInstance> processes,
            List<Installation> installations,
            Optional<String> active) {
        this.situation = situation;
        this.declared = declared;
        this.processes = processes;
        this.installations = installations;
        this.active = active;
    }

    WorkloadPlan plan() {
        Target wanted = Target.of(declared.workload(), declared.hash(), installations);
        Target lastGood = lastGood();
        FailedRevision failed = situation.history().failed();
        if (lastGood != null && failed != null && failed.hash().equals(declared.hash())) {
            Instant retry = Pauses.afterUndone(situation, failed);
            if (situation.now().isBefore(retry)) {
                return holdAtLastGood(lastGood, wanted, failed, retry);
            }
        }
        boolean lastGoodIsQuicker = lastGood != null
                && (mustNotLaunch(wanted)
                        || mustNotChange()
                        || (!wanted.installed()
                                && (lastGood.installed()
                                        || situation.history().trial().install().count() > 0)));
        return lastGoodIsQuicker ? prepareBeside(Objects.requireNonNull(lastGood), wanted) : pursue(wanted);
    }

    private boolean mustNotLaunch(Target target) {
        return new Confinement(situation, target.workload()).obstacle().isPresent();
    }

    /** Outside its maintenance window the last good revision stays, unless the change has begun already. */
    private boolean mustNotChange() {
        boolean begun = processes.stream()
                .anyMatch(process -> process.instance().target().equals(declared.hash()));
        return !begun
                && new Gates(situation, declared, new Draft(situation))
                        .windowOpens()
                        .isPresent();
    }

    private WorkloadPlan pursue(Target target) {
        Draft draft = new Draft(situation);
        courseTo(target, draft).bring(stopSurplus(draft));
        collectGarbage(target, null, draft);
        return draft.build();
    }

    /**
     * The old revision is kept running and well until the new one is ready to take its place. Whatever has to be waited for on one
     * of the two ways does not stop the other: a last good revision that runs no more may be the very reason for the new one.
     */
    private WorkloadPlan prepareBeside(Target lastGood, Target wanted) {
        Draft draft = new Draft(situation);
        courseTo(lastGood, draft).bring(stopSurplus(draft));
        WorkloadPlan upkeep = draft.build();
        WorkloadPlan way = pursue(wanted);
        Optional<Instant> upkeepPause = pause(upkeep);
        Optional<Instant> wayPause = pause(way);
        if (upkeep.steps().isEmpty() || (upkeepPause.isPresent() && wayPause.isEmpty())) {
            return way;
        }
        boolean wayIsSooner = upkeepPause.isPresent()
                && wayPause.isPresent()
                && wayPause.get().isBefore(upkeepPause.get());
        return wayIsSooner ? way : upkeep;
    }

    /** Until when a plan waits before it does anything; empty when it does something now. */
    private static Optional<Instant> pause(WorkloadPlan plan) {
        return plan.next().filter(Wait.class::isInstance).map(step -> ((Wait) step).until());
    }

    private Course courseTo(Target target, Draft draft) {
        return new Course(situation, declared, draft, target, active);
    }

    private @Nullable Target lastGood() {
        ProvenRevision proven = situation.history().proven();
        // To go back to a one-shot would mean to run it again.
        return proven == null || proven.hash().equals(declared.hash()) || Work.isOneShot(proven.workload())
                ? null
                : Target.of(proven, installations);
    }

    private boolean isProven(Target target) {
        ProvenRevision proven = situation.history().proven();
        return proven != null && proven.hash().equals(target.hash());
    }

    private @Nullable ObservedInstance stopSurplus(Draft draft) {
        return Surplus.stop(
                situation,
                processes,
                draft,
                orphaned -> draft.because(Action.RESTART, Reason.PROCESS_EXITED, Surplus.words(orphaned)));
    }

    private WorkloadPlan holdAtLastGood(Target lastGood, Target wanted, FailedRevision failed, Instant retry) {
        Draft draft = new Draft(situation);
        courseTo(lastGood, draft).bring(stopSurplus(draft));
        collectGarbage(lastGood, wanted.directory(), draft);
        if (draft.isEmpty()) {
            draft.waitFor(
                    Reason.REVISION_FAILED,
                    "revision " + failed.revision() + " failed and was undone, "
                            + lastGood.workload().revision() + " runs instead: " + failed.error(),
                    retry,
                    Wait.Kind.RETRY);
        }
        return draft.build();
    }

    /** What nothing refers to once {@code running} runs: a forecast while there is something else to do before. */
    private void collectGarbage(Target running, @Nullable String alsoKept, Draft draft) {
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
