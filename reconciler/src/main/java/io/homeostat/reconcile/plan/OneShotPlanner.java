package io.homeostat.reconcile.plan;

import io.homeostat.desired.model.BriefText;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.history.Attempts.Failures;
import io.homeostat.desired.state.history.OneShotRun;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.desired.state.history.WorkloadHistory.LastKnownGood;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.observe.ObservedInstance.Liveness.Running;
import io.homeostat.reconcile.plan.Step.Stop.Cause;
import io.homeostat.reconcile.plan.Step.Wait;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;

/**
 * Plans a workload that is to run to its end when a trigger fires. Only what differs from a daemon is here: nothing is wrong when it does not
 * run, and a run under way is left to end, also when another revision is declared meanwhile; that is fetched beside it and runs next.
 */
final class OneShotPlanner {
    private static final Duration LOOK_AGAIN_AFTER_BLINDNESS = Duration.ofSeconds(5);
    private static final Duration SHORTEST_POLL = Duration.ofMillis(20);
    private static final Duration LONGEST_POLL = Duration.ofSeconds(2);
    private static final int POLLS_A_LIFETIME = 10;

    private final Situation situation;
    private final Declaration declared;
    private final Schedule schedule;
    private final Target target;
    private final Readiness readiness;
    private final PlanBuilder plan;
    private final TargetSteps rollout;

    OneShotPlanner(Situation situation, Declaration declared) {
        this.situation = situation;
        this.declared = declared;
        this.schedule = new Schedule(situation, declared);
        this.target = Target.of(declared.workload(), declared.hash(), situation.installations());
        this.readiness = target.traits().readiness();
        this.plan = new PlanBuilder(situation);
        this.rollout = new TargetSteps(situation, declared, plan, target);
    }

    WorkloadPlan plan() {
        ObservedInstance current = rollout.stopSurplus(orphaned ->
                plan.because(Action.STOP, Reason.RUN_OVER, "its run is over, the " + TargetSteps.words(orphaned)));
        if (current != null && plan.waitIf(Planner.pending(situation, current))) {
            return plan.build();
        }
        boolean replacesDaemon = current != null && !Work.isOneShot(current.instance());
        // A daemon runs on until what takes its place is there.
        if (replacesDaemon && !target.installed() && !rollout.fetch(current)) {
            return plan.build();
        }
        if (current != null
                && current.liveness() instanceof Running running
                && !stopWhatIsOver(current.instance(), running)) {
            return plan.isEmpty() ? attend(current, running) : plan.build();
        }
        if (replacesDaemon || target.installed() || rollout.fetch(null)) {
            runWhenDue();
        }
        return plan.build();
    }

    /** @return false when the process is one of a run that goes on */
    private boolean stopWhatIsOver(Instance instance, Running running) {
        if (!Work.isOneShot(instance)) {
            plan.because(
                    schedule.due().isPresent() ? Action.RUN : Action.STOP,
                    Reason.EXECUTION_CHANGED,
                    "it ran for ever and is to run to its end");
            plan.stop(instance, Cause.REPLACED);
            return true;
        }
        switch (instance.phase()) {
            case STARTED -> {
                OneShotRun run = situation.history().run().oneShot();
                if (run == null || !run.isOf(instance) || run.result() == OneShotRun.Result.RUNNING) {
                    return false;
                }
                boolean done = run.result() == OneShotRun.Result.COMPLETED;
                plan.because(
                        Action.STOP,
                        done ? Reason.RUN_OVER : Reason.RUN_TIMED_OUT,
                        done ? "its run is done" : "its run is " + run.error());
                plan.stop(instance, Cause.RUN_OVER);
            }
            case START_SENT, STOPPING -> {
                plan.because(Action.RESTART, Reason.START_NOT_FINISHED, RunningInstance.notFinished(instance.phase()));
                plan.stop(instance, Cause.SURPLUS);
            }
            case ENDED -> {} // Over, so never seen running.
            case INTENDED, CREATED -> {
                if (isOfDeclaredWork(instance)
                        && !readiness.isOverdue(target.lifecycle().start().timeout(), running)) {
                    return false;
                }
                boolean late = isOfDeclaredWork(instance);
                plan.because(
                        Action.RESTART,
                        late ? Reason.START_FAILED : Reason.REVISION_CHANGED,
                        late
                                ? "not ready in time: " + readiness.missing(running)
                                : "something else is declared, and it has not begun");
                plan.stop(instance, late ? Cause.START_FAILED : Cause.REPLACED);
            }
        }
        return true;
    }

    private boolean isOfDeclaredWork(Instance instance) {
        return Work.of(instance).filter(Work.of(declared.workload())::equals).isPresent();
    }

    /** A run that goes on, or is about to begin. */
    private WorkloadPlan attend(ObservedInstance current, Running running) {
        Instance instance = current.instance();
        RunningInstance attended = new RunningInstance(situation, plan, rollout, instance, running);
        if (instance.phase().isBeforeStart()) {
            return begin(attended, running);
        }
        Duration left = Schedule.timeout(declared).minus(running.age());
        Instant lookAgain = situation.now().plus(least(left, poll(running)));
        PlanBuilder beside = new PlanBuilder(situation);
        if (!target.installed() && new TargetSteps(situation, declared, beside, target).fetch(current)) {
            return beside.build().dueAt(lookAgain);
        }
        if (isOfDeclaredWork(instance)) {
            attended.confine();
        }
        plan.waitFor(
                Reason.RUN_UNDER_WAY,
                "revision " + BriefText.of(instance.revision()) + " runs"
                        + (isOfDeclaredWork(instance) ? "" : "; what is declared now runs when it has ended"),
                lookAgain,
                Wait.Kind.PROGRESS);
        return plan.build();
    }

    private WorkloadPlan begin(RunningInstance attended, Running running) {
        attended.confine();
        if (target.isStartedExplicitly() && !running.listening()) {
            attended.awaitStart();
        } else {
            plan.because(Action.RUN, Reason.START_NOT_FINISHED, "it is launched but not started");
        }
        rollout.start();
        return plan.build();
    }

    private static Duration poll(Running running) {
        Duration pause = running.age().dividedBy(POLLS_A_LIFETIME);
        return pause.compareTo(SHORTEST_POLL) < 0 ? SHORTEST_POLL : least(pause, LONGEST_POLL);
    }

    private static Duration least(Duration a, Duration b) {
        return a.compareTo(b) < 0 ? a : b;
    }

    /** Nothing of it runs, once the steps so far are done. */
    private void runWhenDue() {
        Optional<String> due = schedule.due();
        if (due.isPresent()) {
            Preconditions preconditions = rollout.preconditions();
            if (plan.waitIf(preconditions
                    .limits()
                    .or(() -> preconditions.betweenStarts(failedStarts()))
                    .or(preconditions::dependencies)
                    .or(preconditions::files))) {
                return;
            }
            giveReason(due.get());
            rollout.launch();
            rollout.collectGarbage(null);
            return;
        }
        if (rollout.needsActivation()) {
            plan.because(Action.ACTIVATE, Drift.LINK);
            rollout.activate();
        }
        if (hasBegun()) {
            rollout.collectGarbage(null);
        }
        if (plan.isEmpty()) {
            rest();
        }
    }

    private String failedStarts() {
        Failures starts = situation.history().attempts().start();
        return "start failed " + starts.count() + " of "
                + target.lifecycle().start().attempts() + " times: " + starts.error();
    }

    private void giveReason(String due) {
        LastKnownGood lastKnownGood = situation.history().lastKnownGood();
        if (lastKnownGood == null) {
            plan.because(Action.INSTALL, Reason.NOT_INSTALLED, "not run yet, due: " + due);
        } else if (!lastKnownGood
                .workload()
                .revision()
                .equals(declared.workload().revision())) {
            plan.because(Action.UPGRADE, Reason.REVISION_CHANGED, "revision changed, due: " + due);
        } else {
            plan.because(Action.RUN, Reason.RUN_DUE, "due: " + due);
        }
    }

    /** Nothing is to be done until the next trigger. */
    private void rest() {
        OneShotRun last = Schedule.lastRun(situation, declared).orElse(null);
        Optional<String> unknown = schedule.unknown();
        if (unknown.isPresent()) {
            plan.waitFor(
                    Reason.CANNOT_OBSERVE,
                    "could not tell whether it is to run: " + unknown.get(),
                    situation.now().plus(LOOK_AGAIN_AFTER_BLINDNESS),
                    Wait.Kind.RETRY);
        } else if (last != null && last.result() == OneShotRun.Result.FAILED) {
            plan.waitFor(
                    Reason.RUN_FAILED,
                    "its last run failed: " + last.error() + "; " + whatIsNext(),
                    schedule.next().orElse(Instant.MAX),
                    schedule.next().isPresent() ? Wait.Kind.RETRY : Wait.Kind.DECLARATION);
        } else {
            schedule.next().ifPresent(plan::dueAt);
        }
    }

    private String whatIsNext() {
        return situation.policy().continuous() ? schedule.whatIsNext() : schedule.whatIsNextByHand(situation.id());
    }

    private boolean hasBegun() {
        return Schedule.lastRun(situation, declared)
                .filter(OneShotRun::hasStarted)
                .isPresent();
    }
}
