package io.homeostat.reconcile.plan;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.BriefText;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.desired.state.history.WorkloadHistory.FailedRevision;
import io.homeostat.desired.state.history.WorkloadHistory.LastKnownGood;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.observe.ObservedInstance.Liveness.Running;
import io.homeostat.reconcile.plan.Step.Wait;
import java.time.Instant;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Plans a workload that is to run for ever: which revision is to run now, and what that takes from where the workload is. */
final class DaemonPlanner {
    private final Situation situation;
    private final Declaration declared;

    DaemonPlanner(Situation situation, Declaration declared) {
        this.situation = situation;
        this.declared = declared;
    }

    WorkloadPlan plan() {
        Target wanted = Target.of(declared.workload(), declared.hash(), situation.installations());
        Target lastGood = lastGood();
        FailedRevision failed = situation.undone();
        if (lastGood != null && failed != null) {
            Instant retry = BackoffPolicies.afterUndone(situation, failed);
            WorkloadPlan undoing = holdAtLastGood(lastGood, wanted, failed, retry);
            // What was given up rests, and so does what it stands in for.
            if (situation.now().isBefore(retry) || undoing.reason() == Reason.GIVEN_UP) {
                Target meanwhile = lastGood.installed() ? null : meanwhile(failed);
                return meanwhile == null ? undoing : prepareBeside(meanwhile, undoing);
            }
        }
        WorkloadPlan changing = pursue(wanted);
        if (lastGood == null) {
            return changing;
        }
        boolean lastGoodIsQuicker = preconditions(wanted).limits().isPresent()
                || preconditions(wanted).files().isPresent()
                || mustNotChange(wanted)
                || (!wanted.installed()
                        && (lastGood.installed()
                                || situation.history().attempts().install().count() > 0));
        return lastGoodIsQuicker || waitsWhile(lastGood, wanted, changing)
                ? prepareBeside(lastGood, changing)
                : changing;
    }

    /** What goes on until what somebody wants in its place is here, as long as it is installed. */
    private @Nullable Target meanwhile(FailedRevision undone) {
        if (undone.meanwhile() == null || undone.meanwhile().workload().isOneShot()) {
            return null;
        }
        Target target = Target.of(undone.meanwhile(), situation.installations());
        return target.installed() ? target : null;
    }

    /** Whether the last good revision runs on until the change may begin, and so is repaired meanwhile. */
    private boolean waitsWhile(Target lastGood, Target wanted, WorkloadPlan changing) {
        boolean runsLastGood = situation.instances().stream()
                .map(ObservedInstance::instance)
                .anyMatch(instance -> LaunchInputs.matches(instance, lastGood.workload())
                        && (!LaunchInputs.matches(instance, wanted.workload())
                                || !Objects.equals(instance.directory(), wanted.directory())));
        return runsLastGood && waitsUntil(changing).isPresent();
    }

    /** The last good revision, when it is not what is declared. To go back to a one-shot would mean to run it again. */
    private @Nullable Target lastGood() {
        LastKnownGood lastKnownGood = situation.history().lastKnownGood();
        return lastKnownGood == null
                        || lastKnownGood.hash().equals(declared.hash())
                        || lastKnownGood.workload().isOneShot()
                ? null
                : Target.of(lastKnownGood, situation.installations());
    }

    private Preconditions preconditions(Target target) {
        return new Preconditions(situation, declared, target);
    }

    /** Outside its maintenance window the last good revision stays, unless the change has begun already. */
    private boolean mustNotChange(Target wanted) {
        boolean begun = situation.instances().stream()
                .anyMatch(process -> process.instance().target().equals(declared.hash()));
        return !begun && preconditions(wanted).windowOpens().isPresent();
    }

    private WorkloadPlan holdAtLastGood(Target lastGood, Target wanted, FailedRevision failed, Instant retry) {
        PlanBuilder plan = new PlanBuilder(situation);
        TargetSteps rollout = bring(lastGood, plan);
        collectGarbage(rollout, wanted.directory(), plan);
        if (plan.isEmpty() && failed.byRequest()) {
            plan.waitIf(Optional.of(Hold.forDeclaration(
                    Reason.ROLLED_BACK,
                    failed.error() + "; until another one is declared, or homeostat apply or resume takes that back")));
        } else if (plan.isEmpty()) {
            plan.waitFor(
                    Reason.REVISION_FAILED,
                    "revision " + BriefText.of(failed.revision()) + " failed and was undone, "
                            + BriefText.of(lastGood.workload().revision())
                            + (rollout.hasCompleted() ? " had completed before: " : " runs instead: ")
                            + failed.error(),
                    retry,
                    Wait.Kind.RETRY);
        }
        return plan.build();
    }

    /**
     * The old revision is kept running and well until the new one is ready to take its place. Whatever one of the two has to wait for
     * does not stop the other: a last good revision that runs no more may be the very reason for the new one.
     */
    private WorkloadPlan prepareBeside(Target old, WorkloadPlan changing) {
        PlanBuilder plan = new PlanBuilder(situation);
        bring(old, plan);
        WorkloadPlan keeping = plan.build();
        Optional<Instant> keepingWaits = waitsUntil(keeping);
        Optional<Instant> changingWaits = waitsUntil(changing);
        // What is about to be replaced need not be restarted before, for a file or because somebody asks for it, who
        // need not wait for
        // a download, however.
        boolean takesLong =
                changing.next().filter(Step.Download.class::isInstance).isPresent();
        boolean renews = keeping.reason() == Reason.ENVIRONMENT_CHANGED
                || (keeping.reason() == Reason.RESTART_REQUESTED && !takesLong);
        if (keeping.steps().isEmpty() || ((keepingWaits.isPresent() || renews) && changingWaits.isEmpty())) {
            return changing.dueAt(keepingWaits.orElse(null));
        }
        if (keepingWaits.isEmpty()
                && changingWaits.isEmpty()
                && keeping.steps().stream().allMatch(DaemonPlanner::isInPlace)) {
            return keeping.followedBy(changing);
        }
        boolean changingIsSooner = keepingWaits.isPresent()
                && changingWaits.isPresent()
                && changingWaits.get().isBefore(keepingWaits.get());
        if (changingIsSooner) {
            return changing;
        }
        return keepingWaits.isEmpty() && changingWaits.isEmpty() ? keeping.announcing(changing) : keeping;
    }

    /** Whether what comes after a step can be foretold from where the workload is now. */
    private static boolean isInPlace(Step step) {
        return step instanceof Step.Activate
                || step instanceof Step.SetLimits
                || step instanceof Step.ApplyConfig
                || step instanceof Step.Reload;
    }

    /** Until when a plan waits before it does anything; empty when it does something now, if only to what is part of the workload. */
    private static Optional<Instant> waitsUntil(WorkloadPlan plan) {
        return plan.next()
                .flatMap(step -> step instanceof Wait wait && wait.parts().isEmpty()
                        ? Optional.of(wait.until())
                        : Optional.empty());
    }

    private WorkloadPlan pursue(Target target) {
        PlanBuilder plan = new PlanBuilder(situation);
        collectGarbage(bring(target, plan), null, plan);
        return plan.build();
    }

    /** Adds the steps until the target runs and has started. */
    private TargetSteps bring(Target target, PlanBuilder plan) {
        TargetSteps rollout = new TargetSteps(situation, declared, plan, target);
        if (!target.hash().equals(declared.hash())) {
            plan.after(target.workload().revision());
        }
        ObservedInstance current = rollout.stopSurplus(
                orphaned -> plan.because(Action.RESTART, Reason.PROCESS_EXITED, TargetSteps.words(orphaned)));
        if (!target.installed() && !rollout.fetch(current)) {
            return rollout;
        }
        if (current == null) {
            if (rollout.hasCompleted()) {
                rollout.rest();
            } else if (!plan.waitIf(rollout.preconditions().launch())) {
                rollout.relaunch();
            }
        } else if (!plan.waitIf(Planner.pending(situation, current))) {
            ImmutableList<Reason> differences = rollout.differences(current.instance());
            if (!differences.isEmpty()) {
                rollout.replace(current, differences);
            } else if (current.liveness() instanceof Running running
                    && !rollout.launchAgain(current.instance())
                    && !rollout.renew(current.instance())) {
                new RunningInstance(situation, plan, rollout, current.instance(), running).maintain();
                rollout.awaitRequest(current.instance());
                rollout.awaitFiles(current.instance());
                rollout.awaitParent();
            }
        }
        return rollout;
    }

    /** A forecast, while there is something else to do before. */
    private void collectGarbage(TargetSteps rollout, @Nullable String alsoKept, PlanBuilder plan) {
        if (!plan.isHeld() && (!plan.isEmpty() || rollout.target().isLastKnownGood(situation))) {
            rollout.collectGarbage(alsoKept);
        }
    }
}
