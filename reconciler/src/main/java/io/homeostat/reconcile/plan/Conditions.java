package io.homeostat.reconcile.plan;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.store.Condition;
import io.homeostat.desired.store.Condition.Status;
import io.homeostat.desired.store.Condition.Type;
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
                keep(situation, Type.PAUSED, Status.FALSE, "NotPaused", ""),
                givenUp(situation, plan),
                rolledBack(situation));
    }

    private static Condition converged(Situation situation, WorkloadPlan plan) {
        if (plan.reason() == Reason.CANNOT_OBSERVE) {
            return keep(situation, Type.CONVERGED, Status.UNKNOWN, plan.reason().camelCase(), plan.message());
        }
        Status status = plan.steps().isEmpty() ? Status.TRUE : Status.FALSE;
        return keep(situation, Type.CONVERGED, status, plan.reason().camelCase(), plan.message());
    }

    private static Condition healthy(Situation situation, WorkloadPlan plan) {
        if (!(situation.seen().processes() instanceof Observation.Seen<ImmutableList<ObservedProcess>>(var processes))) {
            return keep(situation, Type.HEALTHY, Status.UNKNOWN, Reason.CANNOT_OBSERVE.camelCase(), plan.message());
        }
        RunRecord run = situation.history().run();
        boolean runs = processes.stream().anyMatch(p -> p.liveness() instanceof ObservedProcess.Liveness.Running);
        if (!runs) {
            return keep(situation, Type.HEALTHY, Status.FALSE, "NotRunning", "");
        }
        if (run.healthFailures() > 0) {
            return keep(situation, Type.HEALTHY, Status.FALSE, "CheckFailed", plan.message());
        }
        return run.healthySince() == null
                ? keep(situation, Type.HEALTHY, Status.UNKNOWN, "Starting", "")
                : keep(situation, Type.HEALTHY, Status.TRUE, "Healthy", "");
    }

    private static Condition givenUp(Situation situation, WorkloadPlan plan) {
        return plan.reason() == Reason.GIVEN_UP
                ? keep(situation, Type.GIVEN_UP, Status.TRUE, "TooManyFailures", plan.message())
                : keep(situation, Type.GIVEN_UP, Status.FALSE, "Trying", "");
    }

    private static Condition rolledBack(Situation situation) {
        FailedRevision failed = situation.history().failed();
        Declaration declared = situation.declared();
        if (failed == null || declared == null || !failed.hash().equals(declared.hash())) {
            return keep(situation, Type.ROLLED_BACK, Status.FALSE, "NoFailedUpgrade", "");
        }
        return keep(
                situation,
                Type.ROLLED_BACK,
                Status.TRUE,
                "UpgradeFailed",
                "revision " + failed.revision() + " was undone: " + failed.error());
    }

    private static Condition keep(Situation situation, Type type, Status status, String reason, String message) {
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
