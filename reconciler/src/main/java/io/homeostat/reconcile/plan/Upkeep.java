package io.homeostat.reconcile.plan;

import io.homeostat.desired.model.lifecycle.HealthCheck;
import io.homeostat.desired.model.schema.Notation;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.history.Attempts;
import io.homeostat.desired.state.history.ProvenRevision;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.desired.state.history.RunRecord;
import io.homeostat.desired.state.history.Trial;
import io.homeostat.observe.ObservedInstance.Liveness.Running;
import io.homeostat.observe.ObservedInstance.Loss;
import io.homeostat.observe.health.Health;
import io.homeostat.reconcile.plan.Step.Stop.Cause;
import io.homeostat.reconcile.plan.Step.Wait;
import java.time.Duration;
import java.time.Instant;

/** What a process needs that is the right one: to become ready, to be well, to have its configuration. */
final class Upkeep {
    private final Situation situation;
    private final Draft draft;
    private final Course course;
    private final Target target;

    Upkeep(Situation situation, Draft draft, Course course) {
        this.situation = situation;
        this.draft = draft;
        this.course = course;
        this.target = course.target();
    }

    /** Steps for a process that is the right one. */
    void maintain(Instance instance, Running running) {
        if (course.needsActivation()) {
            draft.because(Action.ACTIVATE, Reason.LINK_MOVED, "its symlink does not point to the running revision");
            course.activate();
        }
        switch (instance.phase()) {
            case INTENDED, CREATED -> {
                if (!course.mustNotChange(instance)) {
                    awaitReadiness(instance, running);
                }
            }
            case START_SENT -> {
                draft.because(
                        Action.RESTART,
                        Reason.START_NOT_FINISHED,
                        "whether the plugin was started is not known, and Start is sent only once");
                course.restart(instance, Cause.SURPLUS);
            }
            case STARTED -> {
                if (makeGood(instance, running, Loss.SOCKET) || recover(instance, running)) {
                    return;
                }
                if (!makeGood(instance, running, Loss.LOG) && !course.mustNotChange(instance)) {
                    confine();
                    configure(instance);
                    awaitConfinement();
                }
            }
        }
    }

    /**
     * Launches again what has lost a file that it holds open: it can't be told to make it once more, and waiting brings nothing
     * back.
     *
     * @return true when the loss is there and is, now or after a pause, made good
     */
    private boolean makeGood(Instance instance, Running running, Loss loss) {
        if (!running.lost().contains(loss)) {
            return false;
        }
        Reason reason = loss == Loss.SOCKET ? Reason.SOCKET_MISSING : Reason.LOG_MISSING;
        String words = loss == Loss.SOCKET
                ? "its socket was deleted, nobody can reach it"
                : "its log was deleted, what it writes is lost";
        Instant next = Repairs.next(situation);
        boolean waits = course.pauseUntil(
                next, reason, words + "; so it was just before, and it was restarted", Wait.Kind.RETRY);
        // What could not be started then runs on as it is.
        if (!waits && !course.isBlocked()) {
            draft.because(Action.RESTART, reason, words);
            course.restart(instance, Cause.DRIFTED);
        }
        return true;
    }

    private void awaitReadiness(Instance instance, Running running) {
        if (target.traits().isStartedExplicitly() && running.listening()) {
            draft.because(Action.RESTART, Reason.START_NOT_FINISHED, "it is launched but not started");
            confine();
            course.start();
            return;
        }
        Readiness readiness = target.traits().readiness();
        String missing = readiness.missing(running);
        Duration timeout = target.lifecycle().start().timeout();
        if (readiness.isOverdue(timeout, running)) {
            draft.because(
                    Action.RESTART, Reason.START_FAILED, "not ready within " + Notation.text(timeout) + ": " + missing);
            course.restart(instance, Cause.START_FAILED);
            return;
        }
        // What a lost launch or somebody else has left unlimited does not go on so until it is ready.
        confine();
        draft.waitFor(
                Reason.START_NOT_FINISHED,
                "starting: " + missing,
                situation.now().plus(readiness.poll(running)),
                Wait.Kind.PROGRESS);
        course.start();
    }

    /** @return true when the process has to be replaced or watched because its health is in doubt */
    private boolean recover(Instance instance, Running running) {
        RunRecord run = situation.history().run();
        HealthCheck policy = target.lifecycle().health();
        Instant lastFailure = run.lastHealthFailure();
        if (run.healthFailures() == 0 || lastFailure == null) {
            return false;
        }
        Health health = running.health();
        boolean hung = health != null && health.verdict() == Health.Verdict.HUNG;
        String problem = health == null ? "it is not well" : health.problem();
        String words = problem + " (" + run.healthFailures() + " of " + policy.failureThreshold() + " failed checks)";
        if (run.healthFailures() >= policy.failureThreshold()) {
            draft.because(Action.RESTART, hung ? Reason.HUNG : Reason.UNHEALTHY, words);
            course.restart(instance, Cause.UNHEALTHY);
            return true;
        }
        draft.waitFor(
                hung ? Reason.HUNG : Reason.UNHEALTHY,
                words,
                nextCheck(lastFailure, policy.interval()),
                Wait.Kind.PROGRESS);
        return true;
    }

    /** An interval after the last failed check, unless that time is over: then this check could not say anything, or the clock was set. */
    private Instant nextCheck(Instant lastFailure, Duration interval) {
        Instant next = lastFailure.plus(interval);
        boolean ahead = situation.now().isBefore(next) && !lastFailure.isAfter(situation.now());
        return ahead ? next : situation.now().plus(interval);
    }

    /** Sets limits that do not hold, unless that has just failed. */
    void confine() {
        Confinement confinement = confinement();
        if (confinement.holds() || situation.now().isBefore(retryOfLimits())) {
            return;
        }
        ProvenRevision proven = situation.history().proven();
        String differences = confinement.differences(" instead of ");
        if (proven == null || !proven.hash().equals(target.hash())) {
            draft.because(Action.CONFIGURE, Reason.LIMITS_CHANGED, changeOfLimits(confinement));
        } else if (!differences.isEmpty()) {
            draft.because(Action.CONFIGURE, Reason.LIMITS_DRIFTED, "limits were changed from outside: " + differences);
        } else {
            draft.because(
                    Action.CONFIGURE,
                    Reason.LIMITS_DRIFTED,
                    "process " + confinement.outside().first()
                            + " is outside its control groups, so its limits do not hold for it");
        }
        draft.add(new Step.SetLimits(situation.id(), confinement.enforceable()));
    }

    private static String changeOfLimits(Confinement confinement) {
        String differences = confinement.differences(" -> ");
        return differences.isEmpty() ? "its limits do not hold yet" : "limits changed: " + differences;
    }

    /** What could not be limited is not as declared, and neither is what must not run without limits and does. */
    private void awaitConfinement() {
        Confinement confinement = confinement();
        if (draft.isEmpty() && !confinement.holds()) {
            String error = situation.history().trial().limits().error();
            draft.waitFor(Reason.STEP_FAILED, "could not set its limits: " + error, retryOfLimits(), Wait.Kind.RETRY);
        }
        if (draft.isEmpty()) {
            confinement
                    .obstacle()
                    .ifPresent(why -> draft.waitFor(
                            Reason.LIMITS_NOT_ENFORCEABLE,
                            why + "; it runs on without them",
                            Instant.MAX,
                            Wait.Kind.DECLARATION));
        }
    }

    private Confinement confinement() {
        return new Confinement(situation, target.workload());
    }

    private Instant retryOfLimits() {
        return Pauses.afterUpkeep(situation, situation.history().trial().limits());
    }

    private void configure(Instance instance) {
        if (target.traits().configHash().equals(instance.configHash())) {
            return;
        }
        Trial trial = situation.history().trial();
        if (trial.restartToConfigure() && course.mustNotRestart()) {
            return;
        }
        if (trial.restartToConfigure()) {
            draft.because(
                    Action.RESTART, Reason.CONFIG_CHANGED, "config changed, and the plugin takes it only at Start");
            course.restart(instance, Cause.REPLACED);
            return;
        }
        Attempts failures = trial.configure();
        if (failures.count() > 0) {
            Instant retry =
                    Pauses.afterInstall(situation, failures, target.lifecycle().restart());
            String words = "the plugin did not accept its configuration: " + failures.error();
            if (course.pauseUntil(retry, Reason.CONFIGURE_FAILED, words, Wait.Kind.RETRY)) {
                return;
            }
        }
        draft.because(Action.CONFIGURE, Reason.CONFIG_CHANGED, "config changed");
        draft.add(new Step.ApplyConfig(situation.id(), target.traits().config()));
    }
}
