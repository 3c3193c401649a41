package io.homeostat.reconcile.plan;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedMap;
import com.google.common.collect.ImmutableSortedSet;
import io.homeostat.desired.model.Lifecycle.HealthCheck;
import io.homeostat.desired.model.Reload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.model.schema.Notation;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.desired.state.history.Attempts;
import io.homeostat.desired.state.history.Attempts.Failures;
import io.homeostat.desired.state.history.Attempts.ReloadFailures;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.desired.state.history.RunRecord;
import io.homeostat.desired.state.history.WorkloadHistory.LastKnownGood;
import io.homeostat.observe.ObservedInstance.Liveness.Running;
import io.homeostat.observe.ObservedInstance.Loss;
import io.homeostat.observe.files.FileContent;
import io.homeostat.observe.health.Health;
import io.homeostat.reconcile.plan.Step.Stop.Cause;
import io.homeostat.reconcile.plan.Step.Wait;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Adds to a plan what a running instance of the target needs: to become ready, to be well, to have its limits and its configuration. */
final class RunningInstance {
    private final Situation situation;
    private final PlanBuilder plan;
    private final TargetSteps rollout;
    private final Target target;
    private final Instance instance;
    private final Running running;

    RunningInstance(Situation situation, PlanBuilder plan, TargetSteps rollout, Instance instance, Running running) {
        this.situation = situation;
        this.plan = plan;
        this.rollout = rollout;
        this.target = rollout.target();
        this.instance = instance;
        this.running = running;
    }

    void maintain() {
        if (rollout.needsActivation()) {
            plan.and(Action.ACTIVATE, Drift.LINK_OF_RUNNING);
            rollout.activate();
        }
        switch (instance.phase()) {
            case INTENDED, CREATED -> {
                if (!mustNotChange()) {
                    awaitReadiness();
                }
            }
            case START_SENT, STOPPING ->
                rollout.restart(instance, Cause.SURPLUS, Reason.START_NOT_FINISHED, notFinished(instance.phase()));
            case ENDED -> {} // Over, so never seen running.
            case STARTED -> {
                if (bootAnew() || repair(Loss.SOCKET) || recover()) {
                    return;
                }
                if (!repair(Loss.LOG) && !mustNotChange()) {
                    confine();
                    if (configure()) {
                        reload();
                    }
                    awaitConfinement();
                    if (running.health() != null && running.health().verdict() == Health.Verdict.DEGRADED) {
                        plan.atRestBecause(Reason.DEGRADED, situation.degradation(running.health()));
                    } else if (!running.deviation().remarks().isEmpty()) {
                        plan.atRestBecause(
                                Reason.AT_DESIRED_STATE,
                                String.join("; ", running.deviation().remarks()));
                    }
                }
            }
        }
    }

    /** We ended while an instance was told to start or to stop, and what came of it is not known. */
    static String notFinished(Phase phase) {
        return phase == Phase.STOPPING
                ? "its stop has not come to an end"
                : "whether the plugin was started is not known, and Start is sent only once";
    }

    private boolean mustNotChange() {
        return plan.waitIf(rollout.preconditions().change(instance));
    }

    /**
     * Launches again what has lost a file that it holds open: it can't be told to open it once more, and waiting brings nothing back.
     *
     * @return true when the loss is there, whether it is repaired now or later
     */
    private boolean repair(Loss loss) {
        return running.lost().contains(loss) && repair(Drift.of(loss), "so it was just before, and it was restarted");
    }

    /** Launches again what can't be put right otherwise, and not for ever. */
    private boolean repair(Drift drift, String again) {
        // What could not be started again runs on as it is.
        boolean waits = plan.waitIf(Hold.until(
                        BackoffPolicies.afterRepair(situation),
                        situation,
                        drift.reason(),
                        drift.words() + "; " + again,
                        Wait.Kind.RETRY)
                .or(rollout.preconditions()::dependencies));
        if (!waits) {
            rollout.restart(instance, Cause.DRIFTED, drift.reason(), drift.words());
        }
        return true;
    }

    /**
     * Has the guest boot anew that has lost what it has once a boot, where that can be done from here: nothing else heals it.
     *
     * @return true when it was, whatever is done about it
     */
    private boolean bootAnew() {
        Loss lost = Stream.of(Loss.GUEST_AGENT, Loss.SHARED_PIDS)
                .filter(running.lost()::contains)
                .findFirst()
                .orElse(null);
        if (lost == null) {
            return false;
        }
        Drift drift = Drift.of(lost);
        ImmutableList<WorkloadId> hosts = target.traits().hosts().stream()
                .filter(situation.relations().hosts()::contains)
                .collect(ImmutableList.toImmutableList());
        if (hosts.isEmpty()) {
            plan.waitFor(
                    drift.reason(),
                    drift.words() + "; boot it anew (what it runs in is no Process that it depends on and that runs)",
                    situation.now().plus(target.lifecycle().health().interval()),
                    Wait.Kind.RETRY);
            return true;
        }
        String words =
                drift.words() + ": " + hosts.stream().map(WorkloadId::toString).collect(Collectors.joining(", "));
        boolean waits = plan.waitIf(Hold.until(
                BackoffPolicies.afterRepair(situation),
                situation,
                drift.reason(),
                words + " was told to restart just before",
                Wait.Kind.PROGRESS));
        if (!waits) {
            plan.and(Action.RESTART, drift.reason(), words + " is restarted");
            plan.add(new Step.Reboot(situation.id(), hosts));
        }
        return true;
    }

    private void awaitReadiness() {
        if (target.isStartedExplicitly() && running.listening()) {
            plan.because(Action.RESTART, Reason.START_NOT_FINISHED, "it is launched but not started");
            confine();
            rollout.start();
            return;
        }
        Readiness readiness = target.traits().readiness();
        String missing = readiness.missing(running);
        Duration timeout = target.lifecycle().start().timeout();
        if (readiness.isOverdue(timeout, running)) {
            rollout.restart(
                    instance,
                    Cause.START_FAILED,
                    Reason.START_FAILED,
                    "not ready within " + Notation.text(timeout) + ": " + missing);
            return;
        }
        // What a lost launch or somebody else has left unlimited does not go on so until it is ready.
        confine();
        awaitStart();
        rollout.start();
    }

    /** Waits until it can be told to start, or can be seen to have started. */
    void awaitStart() {
        Readiness readiness = target.traits().readiness();
        plan.waitFor(
                Reason.START_NOT_FINISHED,
                "starting: " + readiness.missing(running),
                situation.now().plus(readiness.poll(running)),
                Wait.Kind.PROGRESS);
    }

    /** @return true when the instance has to be replaced or watched because its health is in doubt */
    private boolean recover() {
        RunRecord run = situation.history().run();
        HealthCheck policy = target.lifecycle().health();
        Instant lastFailure = run.lastHealthFailure();
        if (run.healthFailures() == 0 || lastFailure == null) {
            return false;
        }
        Health health = running.health();
        String problem = health == null ? "it is not well" : health.problem();
        String words = problem + " (" + run.healthFailures() + " of " + policy.failureThreshold() + " failed checks)";
        Reason reason = reason(health == null ? Health.Verdict.UNHEALTHY : health.verdict());
        int left = policy.failureThreshold() - run.healthFailures();
        if (left > 0) {
            rollout.restartUnlessWell(instance, reason, words, left, nextCheck(lastFailure, policy.interval()));
        } else {
            rollout.restart(instance, Cause.UNHEALTHY, reason, words);
        }
        return true;
    }

    private static Reason reason(Health.Verdict verdict) {
        return switch (verdict) {
            case HUNG -> Reason.HUNG;
            case GONE -> Reason.GUEST_LOST;
            case HEALTHY, UNHEALTHY, DEGRADED, UNKNOWN -> Reason.UNHEALTHY;
        };
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
        LastKnownGood lastKnownGood = situation.history().lastKnownGood();
        String differences = confinement.differences(" instead of ");
        if (lastKnownGood == null
                || !lastKnownGood
                        .workload()
                        .lifecycle()
                        .limits()
                        .equals(target.lifecycle().limits())) {
            plan.and(Action.CONFIGURE, Reason.LIMITS_CHANGED, changeOfLimits(confinement));
        } else if (!differences.isEmpty()) {
            plan.and(Action.CONFIGURE, Drift.ofLimits(differences));
        } else {
            plan.and(
                    Action.CONFIGURE,
                    Reason.LIMITS_DRIFTED,
                    "process " + confinement.outside().first()
                            + " is outside its control groups, so its limits do not hold for it");
        }
        plan.add(new Step.SetLimits(situation.id(), confinement.enforceable()));
    }

    private static String changeOfLimits(Confinement confinement) {
        String differences = confinement.differences(" -> ");
        return differences.isEmpty() ? "its limits do not hold yet" : "limits changed: " + differences;
    }

    /** What could not be limited is not as declared, and neither is what must not run without limits and does. */
    private void awaitConfinement() {
        Confinement confinement = confinement();
        if (plan.isEmpty() && !confinement.holds()) {
            String error = situation.history().attempts().limits().error();
            plan.waitFor(Reason.STEP_FAILED, "could not set its limits: " + error, retryOfLimits(), Wait.Kind.RETRY);
        }
        if (plan.isEmpty()) {
            confinement
                    .obstacle()
                    .ifPresent(why -> plan.waitFor(
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
        return BackoffPolicies.afterUpkeep(
                situation, situation.history().attempts().limits());
    }

    /** @return true when it has its configuration after the steps so far, and runs on */
    private boolean configure() {
        boolean isGiven = target.traits().configHash().equals(instance.configHash());
        if (isGiven && running.deviation().repairable().isEmpty()) {
            return true;
        }
        Attempts attempts = situation.history().attempts();
        if (isGiven && attempts.restartToConfigure()) {
            return !repair(
                    Drift.of(running.deviation()), "it had been changed just before, and was restarted for that");
        }
        ImmutableSet<String> takenBack = target.traits().takenBackFrom(instance.configHash());
        if (attempts.restartToConfigure() || !takenBack.isEmpty()) {
            if (!plan.waitIf(rollout.preconditions().restart())) {
                rollout.restart(
                        instance,
                        Cause.REPLACED,
                        Reason.CONFIG_CHANGED,
                        takenBack.isEmpty()
                                ? "config changed, which it takes only at Start"
                                : String.join(" and ", takenBack) + " can't be taken back while it runs");
            }
            return false;
        }
        Failures failures = attempts.configure();
        Instant retry = BackoffPolicies.afterInstall(
                situation, failures, target.lifecycle().restart());
        if (plan.waitIf(Hold.until(
                retry,
                situation,
                Reason.CONFIGURE_FAILED,
                "it did not accept its configuration: " + failures.error(),
                Wait.Kind.RETRY))) {
            return false;
        }
        if (isGiven) {
            plan.and(Action.CONFIGURE, Drift.of(running.deviation()));
        } else {
            plan.and(Action.CONFIGURE, Reason.CONFIG_CHANGED, "config changed");
        }
        plan.add(new Step.ApplyConfig(target.workload()));
        return true;
    }

    /** Makes it read files again that have changed since it has read them. */
    private void reload() {
        Traits traits = target.traits();
        Reload how = traits.reload();
        if (how == null) {
            return;
        }
        ImmutableMap<String, FileContent> seen = situation.seen().files();
        ImmutableSortedSet<String> changed = WatchedFiles.changed(instance, traits, seen);
        if (changed.isEmpty()) {
            WatchedFiles.unreadable(traits, seen)
                    .ifPresent(words -> plan.atRestBecause(Reason.AT_DESIRED_STATE, words));
            return;
        }
        ImmutableSortedMap<String, String> files = WatchedFiles.afterwards(instance, traits, seen);
        String words = (changed.size() == 1 ? "watched file changed: " : "watched files changed: ")
                + String.join(", ", changed);
        if (plan.waitIf(rollout.preconditions()
                .reload(words)
                .or(() -> failedReload(files))
                .or(() -> reloadedJustBefore(words)))) {
            return;
        }
        plan.and(Action.RELOAD, Reason.WATCHED_FILES_CHANGED, words);
        plan.add(new Step.Reload(target.workload(), how, files));
    }

    private Optional<Hold> reloadedJustBefore(String words) {
        return Hold.until(
                BackoffPolicies.afterReload(situation),
                situation,
                Reason.WATCHED_FILES_CHANGED,
                words + "; it was reloaded several times just before, so the workload may change it itself",
                Wait.Kind.RETRY);
    }

    private Optional<Hold> failedReload(ImmutableSortedMap<String, String> files) {
        ReloadFailures failed = situation.history().attempts().reload();
        // Where no agent runs nobody comes back after the pause: the next apply of it does, whenever that is.
        Instant retry = situation.policy().continuous()
                ? BackoffPolicies.afterUpkeep(situation, failed.failures())
                : Instant.MAX;
        return failed.contents().equals(WatchedFiles.hash(files))
                ? Hold.until(
                        retry,
                        situation,
                        Reason.RELOAD_FAILED,
                        "could not reload it: " + failed.failures().error(),
                        Wait.Kind.RETRY)
                : Optional.empty();
    }
}
