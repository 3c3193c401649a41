package io.homeostat.reconcile.plan;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.history.Attempts;
import io.homeostat.desired.state.history.OneShotRun;
import io.homeostat.desired.state.history.ProvenRevision;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.observe.ObservedInstance.Liveness.Running;
import io.homeostat.observe.install.Installation;
import io.homeostat.reconcile.plan.Step.Stop.Cause;
import io.homeostat.reconcile.plan.Step.Wait;
import java.time.Duration;
import java.time.Instant;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The plan for one workload that is to run to its end when a trigger fires. It is installed like any other; what differs is that
 * nothing is wrong when it does not run. A run under way is let come to its end, also when another revision is declared meanwhile:
 * that is fetched beside it and runs next.
 */
final class OneShotPursuit {
    private static final Duration LOOK_AGAIN_AFTER_BLINDNESS = Duration.ofSeconds(5);
    private static final Duration SHORTEST_POLL = Duration.ofMillis(20);
    private static final Duration LONGEST_POLL = Duration.ofSeconds(2);
    private static final int POLLS_A_LIFETIME = 10;

    private final Situation situation;
    private final Declaration declared;
    private final List<ObservedInstance> processes;
    private final List<Installation> installations;
    private final Optional<String> active;
    private final Schedule schedule;
    private final Target target;
    private final Readiness readiness;

    OneShotPursuit(
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
        this.schedule = new Schedule(situation, declared);
        this.target = Target.of(declared.workload(), declared.hash(), installations);
        this.readiness = target.traits().readiness();
    }

    WorkloadPlan plan() {
        Draft draft = new Draft(situation);
        ObservedInstance current = stopSurplus(draft);
        if (current != null && Planner.waitIfPending(draft, situation, current)) {
            return draft.build();
        }
        boolean beside = current != null && !Work.isOneShot(current.instance());
        // A daemon runs on until what takes its place is there.
        if (beside && !target.installed() && !course(draft).fetch(current)) {
            return draft.build();
        }
        if (current != null
                && current.liveness() instanceof Running running
                && !stopWhatIsOver(draft, current.instance(), running)) {
            return draft.isEmpty() ? attend(current, running) : draft.build();
        }
        if (beside || target.installed() || course(draft).fetch(null)) {
            runWhenDue(draft);
        }
        return draft.build();
    }

    private @Nullable ObservedInstance stopSurplus(Draft draft) {
        return Surplus.stop(
                situation,
                processes,
                draft,
                orphaned ->
                        draft.because(Action.STOP, Reason.RUN_OVER, "its run is over, the " + Surplus.words(orphaned)));
    }

    /** @return false when the process is one of a run that goes on */
    private boolean stopWhatIsOver(Draft draft, Instance instance, Running running) {
        if (!Work.isOneShot(instance)) {
            draft.because(Action.STOP, Reason.EXECUTION_CHANGED, "it ran for ever and is to run to its end");
            draft.stop(instance, Cause.REPLACED);
            return true;
        }
        switch (instance.phase()) {
            case STARTED -> {
                OneShotRun run = situation.history().run().oneShot();
                if (run == null || !run.isOf(instance) || run.result() == OneShotRun.Result.RUNNING) {
                    return false;
                }
                boolean done = run.result() == OneShotRun.Result.COMPLETED;
                draft.because(
                        Action.STOP,
                        done ? Reason.RUN_OVER : Reason.RUN_TIMED_OUT,
                        done ? "its run is done" : "its run is " + run.error());
                draft.stop(instance, Cause.RUN_OVER);
            }
            case START_SENT -> {
                draft.because(
                        Action.RESTART,
                        Reason.START_NOT_FINISHED,
                        "whether the plugin was started is not known, and Start is sent only once");
                draft.stop(instance, Cause.SURPLUS);
            }
            case INTENDED, CREATED -> {
                if (isOfDeclaredWork(instance)
                        && !readiness.isOverdue(target.lifecycle().start().timeout(), running)) {
                    return false;
                }
                boolean late = isOfDeclaredWork(instance);
                draft.because(
                        Action.RESTART,
                        late ? Reason.START_FAILED : Reason.REVISION_CHANGED,
                        late
                                ? "not ready in time: " + readiness.missing(running)
                                : "something else is declared, and it has not begun");
                draft.stop(instance, late ? Cause.START_FAILED : Cause.REPLACED);
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
        if (instance.phase().isBeforeStart()) {
            return begin(running);
        }
        Draft beside = new Draft(situation);
        Course course = course(beside);
        if (!target.installed() && course.fetch(current)) {
            return beside.build();
        }
        Draft draft = new Draft(situation);
        if (isOfDeclaredWork(instance)) {
            new Upkeep(situation, draft, course(draft)).confine();
        }
        Duration left = Runs.timeout(declared).minus(running.age());
        draft.waitFor(
                Reason.RUN_UNDER_WAY,
                "revision " + instance.revision() + " runs"
                        + (isOfDeclaredWork(instance) ? "" : "; what is declared now runs when it has ended"),
                situation.now().plus(least(left, poll(running))),
                Wait.Kind.PROGRESS);
        return draft.build();
    }

    private WorkloadPlan begin(Running running) {
        Draft draft = new Draft(situation);
        new Upkeep(situation, draft, course(draft)).confine();
        if (target.traits().isStartedExplicitly() && !running.listening()) {
            draft.waitFor(
                    Reason.START_NOT_FINISHED,
                    "starting: " + readiness.missing(running),
                    situation.now().plus(readiness.poll(running)),
                    Wait.Kind.PROGRESS);
        } else {
            draft.because(Action.RUN, Reason.START_NOT_FINISHED, "it is launched but not started");
        }
        course(draft).start();
        return draft.build();
    }

    private static Duration poll(Running running) {
        Duration pause = running.age().dividedBy(POLLS_A_LIFETIME);
        return pause.compareTo(SHORTEST_POLL) < 0 ? SHORTEST_POLL : least(pause, LONGEST_POLL);
    }

    private static Duration least(Duration a, Duration b) {
        return a.compareTo(b) < 0 ? a : b;
    }

    /** Nothing of it runs, once the steps so far are done. */
    private void runWhenDue(Draft draft) {
        Course course = course(draft);
        Optional<String> due = schedule.due();
        if (due.isPresent()) {
            if (course.mustNotLaunch() || pauseBetweenStarts(draft) || course.isBlocked()) {
                return;
            }
            nameRun(draft, due.get());
            course.launch();
            collectGarbage(draft);
            return;
        }
        if (course.needsActivation()) {
            draft.because(Action.ACTIVATE, Reason.LINK_MOVED, "its symlink does not point to what is installed");
            course.activate();
        }
        if (hasBegun()) {
            collectGarbage(draft);
        }
        if (draft.isEmpty()) {
            rest(draft);
        }
    }

    private boolean pauseBetweenStarts(Draft draft) {
        Attempts starts = situation.history().trial().start();
        int allowed = target.lifecycle().start().attempts();
        Instant retry =
                Pauses.betweenStarts(situation, starts, target.lifecycle().start());
        if (!situation.now().isBefore(retry)) {
            return false;
        }
        draft.waitFor(
                Reason.START_FAILED,
                "start failed " + starts.count() + " of " + allowed + " times: " + starts.error(),
                retry,
                Wait.Kind.PROGRESS);
        return true;
    }

    private void nameRun(Draft draft, String due) {
        ProvenRevision proven = situation.history().proven();
        if (proven == null) {
            draft.because(Action.INSTALL, Reason.NOT_INSTALLED, "not run yet, due: " + due);
        } else if (!proven.workload().revision().equals(declared.workload().revision())) {
            draft.because(Action.UPGRADE, Reason.REVISION_CHANGED, "revision changed, due: " + due);
        } else {
            draft.because(Action.RUN, Reason.RUN_DUE, "due: " + due);
        }
    }

    /** Nothing is to be done until the next trigger. */
    private void rest(Draft draft) {
        OneShotRun last = Schedule.lastRun(situation, declared).orElse(null);
        Optional<String> unknown = schedule.unknown();
        if (unknown.isPresent()) {
            draft.waitFor(
                    Reason.CANNOT_OBSERVE,
                    "could not tell whether it is to run: " + unknown.get(),
                    situation.now().plus(LOOK_AGAIN_AFTER_BLINDNESS),
                    Wait.Kind.RETRY);
        } else if (last != null && last.result() == OneShotRun.Result.FAILED) {
            draft.waitFor(
                    Reason.RUN_FAILED,
                    "its last run failed: " + last.error() + "; " + schedule.whatIsNext(),
                    schedule.next().orElse(Instant.MAX),
                    schedule.next().isPresent() ? Wait.Kind.RETRY : Wait.Kind.DECLARATION);
        } else {
            schedule.next().ifPresent(draft::dueAt);
        }
    }

    private boolean hasBegun() {
        return Schedule.lastRun(situation, declared)
                .filter(OneShotRun::hasStarted)
                .isPresent();
    }

    private void collectGarbage(Draft draft) {
        Set<String> kept = new HashSet<>();
        if (target.directory() != null) {
            kept.add(target.directory());
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

    private Course course(Draft draft) {
        return new Course(situation, declared, draft, target, active);
    }
}
