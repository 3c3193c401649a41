package io.homeostat.reconcile.plan;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.lifecycle.Execution;
import io.homeostat.desired.model.lifecycle.Execution.Match;
import io.homeostat.desired.model.lifecycle.Rule;
import io.homeostat.observe.Observation;
import io.homeostat.observe.host.HostFact;
import io.homeostat.observe.host.HostFacts;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Collectors;

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
                new RuleAnswer(Truth.UNKNOWN, word(rule.scope()) + " " + rule.attribute() + " is not known: " + why);
        };
    }

    /** An attribute that is absent is not unknown: it is equal to nothing and contains nothing. */
    private static boolean holds(Rule rule, Optional<String> fact) {
        return switch (rule.operator()) {
            case EQUAL -> fact.filter(rule.value()::equals).isPresent();
            case NOT_EQUAL -> fact.filter(rule.value()::equals).isEmpty();
            case CONTAINS -> fact.filter(value -> value.contains(rule.value())).isPresent();
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
