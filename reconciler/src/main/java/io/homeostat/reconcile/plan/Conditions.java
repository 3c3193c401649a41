package io.homeostat.reconcile.plan;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.store.Condition;
import io.homeostat.desired.store.FailedRevision;
import io.homeostat.desired.store.RunRecord;
import io.homeostat.observe.Observation;
import io.homeostat.observe.ObservedProcess;
import java.time.Instant;
import java.util.List;

/** How a workload is, as the conditions that status shows. Pure. */
public final class Conditions {
    private Conditions() {}

    /** All five conditions; one whose status is what it was keeps its time of transition. */
    public static ImmutableList<Condition> of(Situation situation, WorkloadPlan plan) {
        return ImmutableList.of(
                converged(situation, plan),
                healthy(situation, plan),
                keep(situation, Condition.Type.PAUSED, Condition.Status.FALSE, "NotPaused", ""),
                givenUp(situation, plan),
                rolledBack(situation));
    }

    private static Condition converged(Situation situation, WorkloadPlan plan) {
        if (plan.reason() == Reason.CANNOT_OBSERVE) {
            return keep(
                    situation,
                    Condition.Type.CONVERGED,
                    Condition.Status.UNKNOWN,
                    plan.reason().camelCase(),
                    plan.message());
        }
        Declaration declared = situation.declared();
        if (plan.steps().isEmpty()
                && declared != null
                && declared.workload().program().limits().areAny()) {
            return keep(
                    situation,
                    Condition.Type.CONVERGED,
                    Condition.Status.TRUE,
                    plan.reason().camelCase(),
                    "its limits are not enforced by this version");
        }
        Condition.Status status = plan.steps().isEmpty() ? Condition.Status.TRUE : Condition.Status.FALSE;
        return keep(situation, Condition.Type.CONVERGED, status, plan.reason().camelCase(), plan.message());
    }

    private static Condition healthy(Situation situation, WorkloadPlan plan) {
        if (!(situation.seen().processes()
                instanceof Observation.Seen<ImmutableList<ObservedProcess>>(var processes))) {
            return keep(
                    situation,
                    Condition.Type.HEALTHY,
                    Condition.Status.UNKNOWN,
                    Reason.CANNOT_OBSERVE.camelCase(),
                    plan.message());
        }
        RunRecord run = situation.history().run();
        boolean runs = processes.stream().anyMatch(p -> p.liveness() instanceof ObservedProcess.Liveness.Running);
        if (!runs) {
            return keep(situation, Condition.Type.HEALTHY, Condition.Status.FALSE, "NotRunning", "");
        }
        if (run.healthFailures() > 0) {
            return keep(situation, Condition.Type.HEALTHY, Condition.Status.FALSE, "CheckFailed", plan.message());
        }
        return run.healthySince() == null
                ? keep(situation, Condition.Type.HEALTHY, Condition.Status.UNKNOWN, "Starting", "")
                : keep(situation, Condition.Type.HEALTHY, Condition.Status.TRUE, "Healthy", "");
    }

    private static Condition givenUp(Situation situation, WorkloadPlan plan) {
        return plan.reason() == Reason.GIVEN_UP
                ? keep(situation, Condition.Type.GIVEN_UP, Condition.Status.TRUE, "TooManyFailures", plan.message())
                : keep(situation, Condition.Type.GIVEN_UP, Condition.Status.FALSE, "Trying", "");
    }

    private static Condition rolledBack(Situation situation) {
        FailedRevision failed = situation.history().failed();
        Declaration declared = situation.declared();
        if (failed == null || declared == null || !failed.hash().equals(declared.hash())) {
            return keep(situation, Condition.Type.ROLLED_BACK, Condition.Status.FALSE, "NoFailedUpgrade", "");
        }
        return keep(
                situation,
                Condition.Type.ROLLED_BACK,
                Condition.Status.TRUE,
                "UpgradeFailed",
                "revision " + failed.revision() + " was undone: " + failed.error());
    }

    private static Condition keep(
            Situation situation, Condition.Type type, Condition.Status status, String reason, String message) {
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
