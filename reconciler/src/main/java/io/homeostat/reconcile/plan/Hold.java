package io.homeostat.reconcile.plan;

import io.homeostat.desired.state.history.Reason;
import io.homeostat.reconcile.plan.Step.Wait;
import java.time.Instant;
import java.util.Optional;

/** Why a workload has to wait, and for how long: what a question found. {@link PlanBuilder} makes a step of it. */
record Hold(Reason reason, String words, Instant until, Wait.Kind kind) {
    /** For a person or a control plane; nothing changes by itself. */
    static Hold forDeclaration(Reason reason, String words) {
        return new Hold(reason, words, Instant.MAX, Wait.Kind.DECLARATION);
    }

    /** Until a time, unless that has come. */
    static Optional<Hold> until(Instant time, Situation situation, Reason reason, String words, Wait.Kind kind) {
        return situation.now().isBefore(time) ? Optional.of(new Hold(reason, words, time, kind)) : Optional.empty();
    }
}
