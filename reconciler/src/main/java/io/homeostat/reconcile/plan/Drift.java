package io.homeostat.reconcile.plan;

import io.homeostat.desired.state.Event;
import io.homeostat.desired.state.EventType;
import io.homeostat.desired.state.history.Condition;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.desired.state.history.Trial;
import java.util.Optional;

/** The event of a machine that moved, for drift that no process's end has told of. Pure. */
public final class Drift {
    private Drift() {}

    /**
     * Told once, by the pass that finds it: not by each step of the repair, and not again by each try of one that fails.
     *
     * @param situation with the conditions as the pass before has left them
     */
    public static Optional<Event> detected(Situation situation, WorkloadPlan plan) {
        boolean told = situation.history().conditions().stream()
                .filter(condition -> condition.type() == Condition.Type.CONVERGED)
                .anyMatch(before -> isToldBy(before.reason(), plan.reason()));
        if (told || !hasNoOtherEvent(plan.reason(), situation.history().trial())) {
            return Optional.empty();
        }
        WorkloadPlan.Facts after = plan.after();
        return Optional.of(new Event(
                situation.now(),
                situation.id(),
                after == null ? "" : after.revision(),
                EventType.DRIFT_DETECTED,
                plan.message()));
    }

    private static boolean isToldBy(Reason before, Reason reason) {
        boolean installs = reason == Reason.INSTALL_MISSING || reason == Reason.INSTALL_DAMAGED;
        return before == reason || (installs && before == Reason.INSTALL_FAILED);
    }

    private static boolean hasNoOtherEvent(Reason reason, Trial trial) {
        return switch (reason) {
            case INSTALL_MISSING, INSTALL_DAMAGED, PROCESS_MISSING, PROCESS_SURPLUS, SOCKET_MISSING, LOG_MISSING ->
                true;
            case LINK_MOVED -> trial.upkeep().count() == 0;
            case LIMITS_DRIFTED -> trial.limits().count() == 0;
            // The process's own event tells what happened, or nothing did.
            default -> false;
        };
    }
}
