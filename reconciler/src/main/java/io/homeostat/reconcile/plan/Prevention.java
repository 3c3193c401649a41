package io.homeostat.reconcile.plan;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.state.Change;
import io.homeostat.desired.state.Event;
import io.homeostat.desired.state.EventType;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.desired.state.history.ProvenRevision;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.reconcile.plan.Bookkeeping.Learned;

/** Tells of what is not even tried, as it is told that it failed: there is no step whose outcome would tell it. */
public final class Prevention {
    private Prevention() {}

    /** Adds what the plan prevents to what was learned before it. */
    public static Learned told(Learned learned, WorkloadPlan plan) {
        Situation situation = learned.situation();
        Declaration declared = situation.declared();
        if (declared == null) {
            return learned;
        }
        Notes notes = new Notes(situation);
        String revision = declared.workload().revision();
        if (plan.reason() == Reason.LIMITS_NOT_ENFORCEABLE && !runs(situation, declared)) {
            FailureCause cause = FailureCause.of(FailureCause.Kind.LIMITS);
            notes.failure(EventType.PLUGIN_START_FAILED, revision, cause, plan.message());
            ProvenRevision proven = situation.history().proven();
            if (proven == null || !proven.hash().equals(declared.hash())) {
                notes.failure(EventType.PLUGIN_INSTALL_FAILED, revision, cause, plan.message());
            }
        } else if (plan.reason() == Reason.SIGNATURE_MISSING) {
            FailureCause cause = FailureCause.of(FailureCause.Kind.UNSIGNED);
            notes.failure(EventType.PLUGIN_INSTALL_FAILED, revision, cause, plan.message());
        } else {
            return learned;
        }
        Change before = learned.change();
        Change more = notes.change();
        return new Learned(
                new Change(
                        before.workload(),
                        more.history() == null ? before.history() : more.history(),
                        before.dropHistory(),
                        before.instances(),
                        before.ended(),
                        ImmutableList.<Event>builder()
                                .addAll(before.events())
                                .addAll(more.events())
                                .build()),
                situation.withHistory(notes.history()));
    }

    private static boolean runs(Situation situation, Declaration declared) {
        return situation.processes().stream()
                .anyMatch(process -> LaunchInputs.matches(process.instance(), declared.workload()));
    }
}
