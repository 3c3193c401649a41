package io.homeostat.reconcile.plan;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.state.Change;
import io.homeostat.desired.state.Event;
import io.homeostat.desired.state.EventType;
import io.homeostat.desired.state.history.ProvenRevision;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.reconcile.plan.Bookkeeping.Learned;

/** Tells that a program is not launched at all, as it is told that a launch failed: nothing is tried, so no step's outcome tells it. */
public final class Prevention {
    private Prevention() {}

    /** Adds what the plan prevents to what was learned before it. */
    public static Learned told(Learned learned, WorkloadPlan plan) {
        Situation situation = learned.situation();
        Declaration declared = situation.declared();
        if (declared == null || plan.reason() != Reason.LIMITS_NOT_ENFORCEABLE || runs(situation, declared)) {
            return learned;
        }
        Notes notes = new Notes(situation);
        String revision = declared.workload().revision();
        notes.failure(EventType.PLUGIN_START_FAILED, revision, plan.message());
        ProvenRevision proven = situation.history().proven();
        if (proven == null || !proven.hash().equals(declared.hash())) {
            notes.failure(EventType.PLUGIN_INSTALL_FAILED, revision, plan.message());
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
