package io.homeostat.reconcile.plan;

import io.homeostat.desired.model.lifecycle.Execution;
import io.homeostat.desired.model.lifecycle.Execution.State;
import io.homeostat.desired.state.history.Decision;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * Whether a workload is to run on this machine. What its rules can't tell now is as it was decided last: an unknown fact neither
 * starts nor stops anything.
 *
 * @param state null when it has never been decided
 * @param why which rule decided; empty when no rule had to be asked
 * @param since when it was decided so, and not otherwise; null when it has never been
 * @param unknown what would have to be known to decide now; empty when it was decided now
 */
record Ruling(@Nullable State state, String why, @Nullable Instant since, String unknown) {

    static Ruling of(Execution execution, Situation situation) {
        Decision before = situation.history().decision();
        RuleAnswer answer = RuleAnswer.of(execution, situation.host());
        State state = switch (answer.truth()) {
            case TRUE -> execution.onMatch();
            case FALSE -> execution.defaultState();
            case UNKNOWN -> execution.onMatch() == execution.defaultState() ? execution.onMatch() : null;
        };
        if (state == null) {
            return before == null
                    ? new Ruling(null, "", null, answer.words())
                    : new Ruling(before.state(), before.why(), before.since(), answer.words());
        }
        Instant since = before != null && before.state() == state ? before.since() : situation.now();
        return new Ruling(state, answer.words(), since, "");
    }

    /** What is to be remembered of it; null when that is nothing new. */
    @Nullable
    Decision decided() {
        return state == null || since == null || !unknown.isEmpty() ? null : new Decision(state, why, since);
    }

    /** For people: whether it is disabled, and by what. */
    String words() {
        String word = state == State.DISABLED ? "disabled" : "enabled";
        String decided = word + (why.isEmpty() ? " by its declaration" : ": " + why);
        return unknown.isEmpty() ? decided : decided + "; this stays, because " + unknown;
    }
}
