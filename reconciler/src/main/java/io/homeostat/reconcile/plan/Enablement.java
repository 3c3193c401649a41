package io.homeostat.reconcile.plan;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.Lifecycle.Execution;
import io.homeostat.desired.model.Lifecycle.Execution.Match;
import io.homeostat.desired.model.Lifecycle.Execution.State;
import io.homeostat.desired.model.Lifecycle.Rule;
import io.homeostat.desired.state.history.WorkloadHistory.Decision;
import io.homeostat.observe.Observation;
import io.homeostat.observe.host.HostFacts;
import io.homeostat.observe.host.HostFacts.HostFact;
import java.time.Instant;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Collectors;
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
public record Enablement(
        @Nullable State state, String why, @Nullable Instant since, String unknown) {

    public static Enablement of(Execution execution, Situation situation) {
        Decision before = situation.history().decision();
        RuleAnswer answer = RuleAnswer.of(execution, situation.host());
        State state = switch (answer.truth()) {
            case TRUE -> execution.onMatch();
            case FALSE -> execution.defaultState();
            case UNKNOWN -> execution.onMatch() == execution.defaultState() ? execution.onMatch() : null;
        };
        if (state == null) {
            return before == null
                    ? new Enablement(null, "", null, answer.words())
                    : new Enablement(before.state(), before.why(), before.since(), answer.words());
        }
        Instant since = before != null && before.state() == state ? before.since() : situation.now();
        return new Enablement(state, answer.words(), since, "");
    }

    /** What is to be remembered of it; null when that is nothing new. */
    @Nullable
    public Decision decided() {
        return state == null || since == null || !unknown.isEmpty() ? null : new Decision(state, why, since);
    }

    /** For people: whether it is disabled, and by what. */
    public String words() {
        String word = state == State.DISABLED ? "disabled" : "enabled";
        String decided = word + (why.isEmpty() ? " by its declaration" : ": " + why);
        return unknown.isEmpty() ? decided : decided + "; this stays, because " + unknown;
    }

    /**
     * Whether rules match, in three-valued logic: of {@code all} one that does not hold is enough for no, of {@code any} one that holds for yes,
     * whatever else is unknown.
     *
     * @param words the rules that made the difference, each with what is known of its fact; without rules empty
     */
    record RuleAnswer(Truth truth, String words) {
        /** Longer facts are only counted: nobody reads them, and they are more likely to be secret. */
        private static final int LONGEST_SHOWN = 64;

        /** Kleene's. */
        enum Truth {
            TRUE,
            FALSE,
            UNKNOWN
        }

        /** Without rules nothing matches. */
        static RuleAnswer of(Execution execution, HostFacts host) {
            ImmutableList<RuleAnswer> answers =
                    execution.rules().stream().map(rule -> of(rule, host)).collect(ImmutableList.toImmutableList());
            if (answers.isEmpty()) {
                return new RuleAnswer(Truth.FALSE, "");
            }
            Truth enough = execution.match() == Match.ALL ? Truth.FALSE : Truth.TRUE;
            return first(answers, enough)
                    .or(() -> first(answers, Truth.UNKNOWN))
                    .orElseGet(() -> new RuleAnswer(
                            answers.get(0).truth,
                            answers.stream().map(RuleAnswer::words).collect(Collectors.joining(" and "))));
        }

        private static Optional<RuleAnswer> first(ImmutableList<RuleAnswer> answers, Truth truth) {
            return answers.stream().filter(answer -> answer.truth == truth).findFirst();
        }

        private static RuleAnswer of(Rule rule, HostFacts host) {
            return switch (host.get(HostFact.of(rule))) {
                case Observation.Seen<Optional<String>>(Optional<String> fact) -> {
                    boolean holds = holds(rule, fact);
                    yield new RuleAnswer(
                            holds ? Truth.TRUE : Truth.FALSE,
                            words(rule) + (holds ? " holds (" : " does not hold (") + known(fact) + ")");
                }
                case Observation.Unseen<Optional<String>>(String why) ->
                    new RuleAnswer(
                            Truth.UNKNOWN, word(rule.scope()) + " " + rule.attribute() + " is not known: " + why);
            };
        }

        /** An attribute that is absent is not unknown: it is equal to nothing and contains nothing. */
        private static boolean holds(Rule rule, Optional<String> fact) {
            return switch (rule.operator()) {
                case EQUAL -> fact.filter(rule.value()::equals).isPresent();
                case NOT_EQUAL -> fact.filter(rule.value()::equals).isEmpty();
                case CONTAINS ->
                    fact.filter(value -> value.contains(rule.value())).isPresent();
            };
        }

        private static String words(Rule rule) {
            String operator = switch (rule.operator()) {
                case EQUAL -> "equal";
                case NOT_EQUAL -> "notEqual";
                case CONTAINS -> "contains";
            };
            return word(rule.scope()) + " " + rule.attribute() + " " + operator + " '" + rule.value() + "'";
        }

        private static String word(Rule.Scope scope) {
            return scope.name().toLowerCase(Locale.ROOT);
        }

        private static String known(Optional<String> fact) {
            return fact.map(value -> value.length() > LONGEST_SHOWN
                            ? "it has " + value.length() + " characters"
                            : "it is '" + value + "'")
                    .orElse("there is none");
        }
    }
}
