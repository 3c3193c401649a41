package io.homeostat.reconcile.command.output;

import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.DesiredState;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Pause;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.desired.state.history.WorkloadHistory.FailedRevision;
import io.homeostat.desired.state.history.WorkloadHistory.LastKnownGood;
import io.homeostat.reconcile.plan.Situation;
import io.homeostat.reconcile.plan.WorkloadPlan;
import java.util.Map;

/** Tells that what a command asked for does not come about, whatever becomes of the workload. As a rule somebody else wants something else by now. */
@FunctionalInterface
public interface Overtaken {
    /** The end of a sentence. */
    String BY_SOMEBODY = " meanwhile, by somebody else";

    /** For what can't be overtaken. */
    Overtaken NEVER = (situation, plan) -> "";

    /** What is wanted by now, for people; empty as long as it is what was asked for. */
    String by(Situation situation, WorkloadPlan plan);

    /**
     * For what was declared: everything else that is declared is something else.
     *
     * @param wanted what is declared as the command has left it
     */
    static Overtaken declared(DesiredState wanted) {
        return (situation, plan) -> {
            Declaration now = situation.declared();
            if (hash(wanted, situation.id()).equals(now == null ? "" : now.hash())) {
                return "";
            }
            return now == null ? withdrawn(wanted).by(situation, plan) : "something else was declared" + BY_SOMEBODY;
        };
    }

    /** For what is to run, whatever it is that is declared of it. */
    static Overtaken withdrawn(DesiredState wanted) {
        return (situation, plan) ->
                situation.declared() == null && !hash(wanted, situation.id()).isEmpty()
                        ? "it was withdrawn" + BY_SOMEBODY
                        : "";
    }

    /** For what is to be stopped. */
    static Overtaken started() {
        return (situation, plan) -> {
            Pause pause = situation.pause();
            return pause == null && situation.declared() != null ? "it was started" + BY_SOMEBODY : "";
        };
    }

    /**
     * For what is to run in the place of what is declared.
     *
     * @param back hashes of that
     */
    static Overtaken rolledBack(DesiredState wanted, Map<WorkloadId, String> back) {
        return (situation, plan) -> {
            String otherwise = declared(wanted).by(situation, plan);
            FailedRevision undone = situation.undone();
            LastKnownGood stands = situation.history().lastKnownGood();
            if (!otherwise.isEmpty()) {
                return otherwise;
            } else if (undone == null || !undone.byRequest() || stands == null) {
                return "the rollback was taken back" + BY_SOMEBODY;
            }
            if (!stands.hash().equals(back.get(situation.id()))) {
                return "it was rolled back to another revision" + BY_SOMEBODY;
            }
            return plan.reason() == Reason.DISABLED ? "it is not to run here: " + plan.message() : "";
        };
    }

    private static String hash(DesiredState wanted, WorkloadId id) {
        return wanted.get(id).map(Declaration::hash).orElse("");
    }
}
