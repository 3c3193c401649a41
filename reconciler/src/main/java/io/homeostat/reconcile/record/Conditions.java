package io.homeostat.reconcile.record;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.BriefText;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.Lifecycle.Execution;
import io.homeostat.desired.state.Pause;
import io.homeostat.desired.state.history.Attempts.Failures;
import io.homeostat.desired.state.history.Condition;
import io.homeostat.desired.state.history.OneShotRun;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.desired.state.history.RunRecord;
import io.homeostat.desired.state.history.WorkloadHistory.FailedRevision;
import io.homeostat.observe.Observation;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.observe.health.Health;
import io.homeostat.observe.limits.ObservedLimits;
import io.homeostat.reconcile.plan.CleanEnd;
import io.homeostat.reconcile.plan.Confinement;
import io.homeostat.reconcile.plan.Enablement;
import io.homeostat.reconcile.plan.Schedule;
import io.homeostat.reconcile.plan.Situation;
import io.homeostat.reconcile.plan.WorkloadPlan;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** How a workload is, as the conditions that status shows. Pure. */
public final class Conditions {
    private Conditions() {}

    /**
     * The five conditions that every workload has, and two that only those have which are not limited as declared, and which rules or
     * their declaration say of whether they are to run. One whose status is what it was keeps its time of transition.
     */
    public static ImmutableList<Condition> of(Situation situation, WorkloadPlan plan) {
        ImmutableList.Builder<Condition> conditions = ImmutableList.builder();
        conditions.add(
                converged(situation, plan),
                healthy(situation, plan),
                paused(situation),
                givenUp(situation, plan),
                rolledBack(situation));
        limitsNotEnforced(situation).ifPresent(conditions::add);
        disabled(situation).ifPresent(conditions::add);
        return conditions.build();
    }

    private static Condition converged(Situation situation, WorkloadPlan plan) {
        if (plan.reason() == Reason.CANNOT_OBSERVE) {
            return keep(situation, Condition.Type.CONVERGED, Condition.Status.UNKNOWN, plan.reason(), plan.message());
        }
        Condition.Status status = plan.steps().isEmpty() ? Condition.Status.TRUE : Condition.Status.FALSE;
        return keep(situation, Condition.Type.CONVERGED, status, plan.reason(), plan.message());
    }

    private static Condition healthy(Situation situation, WorkloadPlan plan) {
        if (!(situation.seen().instances()
                instanceof Observation.Seen<ImmutableList<ObservedInstance>>(var instances))) {
            return keep(
                    situation, Condition.Type.HEALTHY, Condition.Status.UNKNOWN, Reason.CANNOT_OBSERVE, plan.message());
        }
        Declaration declared = situation.declared();
        if (declared != null && declared.workload().isOneShot()) {
            return ran(situation, declared);
        }
        RunRecord run = situation.history().run();
        boolean runs = instances.stream().anyMatch(p -> p.liveness() instanceof ObservedInstance.Liveness.Running);
        if (!runs && CleanEnd.resting(situation).isPresent()) {
            return keep(situation, Condition.Type.HEALTHY, Condition.Status.TRUE, Reason.COMPLETED, "");
        }
        if (!runs) {
            return keep(situation, Condition.Type.HEALTHY, Condition.Status.FALSE, Reason.NOT_RUNNING, "");
        }
        if (run.healthFailures() > 0) {
            return keep(situation, Condition.Type.HEALTHY, Condition.Status.FALSE, Reason.CHECK_FAILED, plan.message());
        }
        List<Health> told = instances.stream()
                .flatMap(one -> one.liveness() instanceof ObservedInstance.Liveness.Running running
                        ? Stream.ofNullable(running.health())
                        : Stream.empty())
                .toList();
        Optional<Health> degraded = told.stream()
                .filter(health -> health.verdict() == Health.Verdict.DEGRADED)
                .findFirst();
        if (degraded.isPresent()) {
            return keep(
                    situation,
                    Condition.Type.HEALTHY,
                    Condition.Status.FALSE,
                    Reason.DEGRADED,
                    situation.degradation(degraded.get()));
        }
        Optional<Health> reported = told.stream()
                .filter(health -> health.verdict() == Health.Verdict.HEALTHY && health.code() != 0)
                .findFirst();
        if (reported.isPresent()) {
            // Not its words, which are its own and may be secret.
            String words = "it reports code " + reported.get().code();
            return keep(situation, Condition.Type.HEALTHY, Condition.Status.FALSE, Reason.CODE_REPORTED, words);
        }
        return run.healthySince() == null
                ? keep(situation, Condition.Type.HEALTHY, Condition.Status.UNKNOWN, Reason.STARTING, "")
                : keep(situation, Condition.Type.HEALTHY, Condition.Status.TRUE, Reason.HEALTHY, "");
    }

    /** A one-shot is as well as its last run. */
    private static Condition ran(Situation situation, Declaration declared) {
        OneShotRun run = Schedule.lastRun(situation, declared).orElse(null);
        if (run == null) {
            return keep(situation, Condition.Type.HEALTHY, Condition.Status.UNKNOWN, Reason.NOT_RUN_YET, "");
        }
        return switch (run.result()) {
            case RUNNING -> keep(situation, Condition.Type.HEALTHY, Condition.Status.UNKNOWN, Reason.RUNNING, "");
            case COMPLETED -> keep(situation, Condition.Type.HEALTHY, Condition.Status.TRUE, Reason.COMPLETED, "");
            case FAILED ->
                keep(situation, Condition.Type.HEALTHY, Condition.Status.FALSE, Reason.RUN_FAILED, run.error());
        };
    }

    private static Condition paused(Situation situation) {
        Pause pause = situation.pause();
        return pause == null
                ? keep(situation, Condition.Type.PAUSED, Condition.Status.FALSE, Reason.NOT_PAUSED, "")
                : new Condition(
                        Condition.Type.PAUSED,
                        Condition.Status.TRUE,
                        pause.stopped() ? Reason.STOPPED_BY_USER : Reason.PAUSED_BY_USER,
                        pause.reason(),
                        pause.since());
    }

    private static Condition givenUp(Situation situation, WorkloadPlan plan) {
        return plan.reason() == Reason.GIVEN_UP
                ? keep(
                        situation,
                        Condition.Type.GIVEN_UP,
                        Condition.Status.TRUE,
                        Reason.TOO_MANY_FAILURES,
                        plan.message())
                : keep(situation, Condition.Type.GIVEN_UP, Condition.Status.FALSE, Reason.TRYING, "");
    }

    private static Condition rolledBack(Situation situation) {
        FailedRevision failed = situation.undone();
        if (failed == null) {
            return keep(situation, Condition.Type.ROLLED_BACK, Condition.Status.FALSE, Reason.NO_FAILED_UPGRADE, "");
        }
        if (!failed.byRequest()) {
            return keep(
                    situation,
                    Condition.Type.ROLLED_BACK,
                    Condition.Status.TRUE,
                    Reason.UPGRADE_FAILED,
                    "revision " + BriefText.of(failed.revision()) + " was undone: " + failed.error());
        }
        boolean launched = failed.meanwhile() == null;
        Condition shown = keep(
                situation,
                Condition.Type.ROLLED_BACK,
                launched ? Condition.Status.TRUE : Condition.Status.FALSE,
                Reason.ROLLED_BACK,
                (launched ? "" : "is to be ") + failed.error());
        // Each request is another rollback, whatever was undone before.
        return shown.lastTransitionTime().isBefore(failed.at())
                ? new Condition(shown.type(), shown.status(), shown.reason(), shown.message(), situation.now())
                : shown;
    }

    private static Optional<Condition> limitsNotEnforced(Situation situation) {
        Declaration declared = situation.declared();
        if (declared == null || !declared.workload().lifecycle().limits().areAny()) {
            return Optional.empty();
        }
        if (situation.seen().limits() instanceof Observation.Unseen<ObservedLimits>(String why)) {
            return Optional.of(keep(
                    situation,
                    Condition.Type.LIMITS_NOT_ENFORCED,
                    Condition.Status.UNKNOWN,
                    Reason.CANNOT_OBSERVE,
                    why));
        }
        Confinement confinement = new Confinement(situation, declared.workload());
        Optional<String> unenforceable = confinement.unenforceable();
        if (unenforceable.isPresent()) {
            return Optional.of(keep(
                    situation,
                    Condition.Type.LIMITS_NOT_ENFORCED,
                    Condition.Status.TRUE,
                    Reason.NOT_POSSIBLE,
                    unenforceable.get()));
        }
        Failures failures = situation.history().attempts().limits();
        return failures.count() == 0 || confinement.holds()
                ? Optional.empty()
                : Optional.of(keep(
                        situation,
                        Condition.Type.LIMITS_NOT_ENFORCED,
                        Condition.Status.TRUE,
                        Reason.NOT_SET,
                        failures.error()));
    }

    private static Optional<Condition> disabled(Situation situation) {
        Declaration declared = situation.declared();
        if (declared == null) {
            return Optional.empty();
        }
        Execution execution = declared.workload().lifecycle().execution();
        Enablement enablement = Enablement.of(execution, situation);
        if (enablement.state() == null) {
            return Optional.of(keep(
                    situation,
                    Condition.Type.DISABLED,
                    Condition.Status.UNKNOWN,
                    Reason.FACTS_UNKNOWN,
                    enablement.unknown()));
        }
        boolean disabled = enablement.state() == Execution.State.DISABLED;
        if (execution.rules().isEmpty() && !disabled) {
            return Optional.empty();
        }
        return Optional.of(keep(
                situation,
                Condition.Type.DISABLED,
                disabled ? Condition.Status.TRUE : Condition.Status.FALSE,
                disabled ? Reason.DISABLED : Reason.ENABLED,
                enablement.words()));
    }

    private static Condition keep(
            Situation situation, Condition.Type type, Condition.Status status, Reason reason, String message) {
        List<Condition> before = situation.history().conditions();
        Instant since = situation.now();
        for (Condition condition : before) {
            if (condition.type() == type && condition.status() == status) {
                since = condition.lastTransitionTime();
            }
        }
        return new Condition(type, status, reason, message, since);
    }
}
