package io.homeostat.reconcile.plan;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import io.homeostat.desired.model.Lifecycle.Execution;
import io.homeostat.desired.model.Lifecycle.Execution.Match;
import io.homeostat.desired.model.Lifecycle.Execution.State;
import io.homeostat.desired.model.Lifecycle.Rule;
import io.homeostat.desired.model.Lifecycle.Rule.Operator;
import io.homeostat.desired.model.Lifecycle.Rule.Scope;
import io.homeostat.observe.Observation;
import io.homeostat.observe.host.HostFacts;
import io.homeostat.observe.host.HostFacts.HostFact;
import io.homeostat.reconcile.plan.Enablement.RuleAnswer;
import io.homeostat.reconcile.plan.Enablement.RuleAnswer.Truth;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class EnablementTest {
    private static final Rule YES = rule("known", Operator.EQUAL, "value");
    private static final Rule NO = rule("known", Operator.EQUAL, "other");
    private static final Rule WHO_KNOWS = rule("hidden", Operator.EQUAL, "value");

    private static final HostFacts HOST = new HostFacts(
            Observation.seen("boot"),
            "instance",
            ImmutableMap.of(
                    fact("known"), Observation.seen(Optional.of("value")),
                    fact("absent"), Observation.seen(Optional.empty()),
                    fact("long"), Observation.seen(Optional.of("secret".repeat(20))),
                    fact("hidden"), Observation.unseen("connection refused")));

    @ParameterizedTest
    @CsvSource({
        "known,  EQUAL,     value, TRUE",
        "known,  EQUAL,     val,   FALSE",
        "known,  EQUAL,     VALUE, FALSE",
        "known,  NOT_EQUAL, value, FALSE",
        "known,  NOT_EQUAL, other, TRUE",
        "known,  CONTAINS,  alu,   TRUE",
        "known,  CONTAINS,  x,     FALSE",
        "absent, EQUAL,     value, FALSE",
        "absent, NOT_EQUAL, value, TRUE",
        "absent, CONTAINS,  v,     FALSE",
        "hidden, EQUAL,     value, UNKNOWN",
        "hidden, NOT_EQUAL, value, UNKNOWN",
        "hidden, CONTAINS,  v,     UNKNOWN",
        "unasked, EQUAL,    value, UNKNOWN",
    })
    void aRuleHoldsOrNotOrNobodyKnows(String attribute, Operator operator, String value, Truth truth) {
        assertEquals(truth, answer(Match.ALL, rule(attribute, operator, value)).truth());
    }

    @ParameterizedTest
    @CsvSource({
        "YES,             TRUE,    TRUE",
        "NO,              FALSE,   FALSE",
        "WHO_KNOWS,       UNKNOWN, UNKNOWN",
        "YES YES,         TRUE,    TRUE",
        "YES NO,          FALSE,   TRUE",
        "NO NO,           FALSE,   FALSE",
        "YES WHO_KNOWS,   UNKNOWN, TRUE",
        "WHO_KNOWS NO,    FALSE,   UNKNOWN",
        "WHO_KNOWS NO YES, FALSE,  TRUE",
    })
    void whatIsUnknownMattersOnlyWhenItMakesADifference(String rules, Truth all, Truth any) {
        ImmutableList.Builder<Rule> these = ImmutableList.builder();
        for (String name : rules.split(" ", -1)) {
            these.add(
                    switch (name) {
                        case "YES" -> YES;
                        case "NO" -> NO;
                        default -> WHO_KNOWS;
                    });
        }

        assertEquals(
                all, RuleAnswer.of(execution(Match.ALL, these.build()), HOST).truth());
        assertEquals(
                any, RuleAnswer.of(execution(Match.ANY, these.build()), HOST).truth());
    }

    @Test
    void withoutRulesNothingMatches() {
        assertEquals(new RuleAnswer(Truth.FALSE, ""), answer(Match.ALL));
    }

    @Test
    void theWordsNameTheRuleThatDecidedAndTheFact() {
        assertEquals(
                "metadata known equal 'other' does not hold (it is 'value')",
                answer(Match.ALL, YES, NO, WHO_KNOWS).words());
        assertEquals(
                "metadata known equal 'value' holds (it is 'value')",
                answer(Match.ANY, NO, WHO_KNOWS, YES).words());
        assertEquals(
                "metadata known equal 'value' holds (it is 'value') and metadata absent notEqual 'x' holds (there is none)",
                answer(Match.ALL, YES, rule("absent", Operator.NOT_EQUAL, "x")).words());
    }

    @Test
    void theWordsSayWhatIsUnknownAndWhy() {
        assertEquals(
                "metadata hidden is not known: connection refused",
                answer(Match.ALL, YES, WHO_KNOWS).words());
    }

    @Test
    void aLongFactIsNotShown() {
        String words = answer(Match.ALL, rule("long", Operator.CONTAINS, "x")).words();
        assertTrue(words.matches("metadata long contains 'x' .* 120 characters\\)"), words);
    }

    private static RuleAnswer answer(Match match, Rule... rules) {
        return RuleAnswer.of(execution(match, ImmutableList.copyOf(rules)), HOST);
    }

    private static Execution execution(Match match, ImmutableList<Rule> rules) {
        return new Execution(Execution.Type.DAEMON, false, State.DISABLED, State.ENABLED, match, rules, null, null);
    }

    private static Rule rule(String attribute, Operator operator, String value) {
        return new Rule(Scope.METADATA, attribute, operator, value);
    }

    private static HostFact fact(String attribute) {
        return new HostFact(Scope.METADATA, attribute);
    }
}
