package io.homeostat.reconcile.record;

import static io.homeostat.reconcile.plan.Example.plugin;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import io.homeostat.desired.model.Lifecycle.Execution;
import io.homeostat.desired.model.Lifecycle.Execution.Match;
import io.homeostat.desired.model.Lifecycle.Execution.State;
import io.homeostat.desired.model.Lifecycle.Rule;
import io.homeostat.desired.model.Lifecycle.Rule.Operator;
import io.homeostat.desired.model.Lifecycle.Rule.Scope;
import io.homeostat.desired.state.history.WorkloadHistory.Decision;
import io.homeostat.observe.Observation;
import io.homeostat.observe.host.HostFacts;
import io.homeostat.observe.host.HostFacts.HostFact;
import io.homeostat.reconcile.plan.Action;
import io.homeostat.reconcile.plan.Example;
import java.util.Optional;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Facts that change and become unknown, in many seeded histories. */
class RuleHistoryTest {
    private static final int HISTORIES = Boolean.getBoolean("nightly") ? 500 : 100;
    private static final int LOOKS = 40;
    private static final HostFact A = new HostFact(Scope.OS, "A");
    private static final HostFact B = new HostFact(Scope.METADATA, "B");

    @Test
    void whatIsUnknownChangesNothingWhateverWasKnownBefore() {
        for (long seed = 0; seed < HISTORIES; seed++) {
            play(seed);
        }
    }

    private static void play(long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        Execution execution = execution(random);
        Decision remembered = null;
        for (int look = 0; look < LOOKS; look++) {
            HostFacts host =
                    new HostFacts(Observation.seen("boot"), "i", ImmutableMap.of(A, fact(random), B, fact(random)));
            boolean runs = random.nextBoolean();
            State certain = certain(execution, host);
            State expected = certain != null ? certain : remembered == null ? null : remembered.state();
            String story =
                    "history " + seed + ", look " + look + ": " + execution + " on " + host + " after " + remembered;

            Example example = example(execution, host, runs, remembered);

            assertEquals(planned(expected, runs), example.plan().action(), story);
            Decision next = example.learned().situation().history().decision();
            assertEquals(expected, next == null ? null : next.state(), story);
            if (certain == null) {
                assertEquals(remembered, next, story);
            }
            remembered = next;
        }
    }

    /** Whatever the unknown facts may be: the state when they all lead to the same one, else null. */
    private static @Nullable State certain(Execution execution, HostFacts host) {
        State found = null;
        for (Optional<String> a : possible(host.get(A))) {
            for (Optional<String> b : possible(host.get(B))) {
                State state = state(execution, ImmutableMap.of(A, a, B, b));
                if (found != null && found != state) {
                    return null;
                }
                found = state;
            }
        }
        return found;
    }

    private static ImmutableList<Optional<String>> possible(Observation<Optional<String>> fact) {
        return switch (fact) {
            case Observation.Seen<Optional<String>>(Optional<String> value) -> ImmutableList.of(value);
            case Observation.Unseen<Optional<String>> unseen ->
                ImmutableList.of(Optional.of("x"), Optional.of("y"), Optional.empty());
        };
    }

    private static State state(Execution execution, ImmutableMap<HostFact, Optional<String>> facts) {
        long holding = execution.rules().stream()
                .filter(rule -> {
                    boolean equal = Optional.of(rule.value()).equals(facts.get(HostFact.of(rule)));
                    return equal == (rule.operator() == Operator.EQUAL);
                })
                .count();
        boolean match =
                execution.match() == Match.ALL ? holding == execution.rules().size() : holding > 0;
        return match ? execution.onMatch() : execution.defaultState();
    }

    private static Action planned(@Nullable State state, boolean runs) {
        if (state == null) {
            return Action.WAIT;
        }
        if (state == State.ENABLED) {
            return runs ? Action.NONE : Action.INSTALL;
        }
        return runs ? Action.STOP : Action.NONE;
    }

    private static Example example(Execution execution, HostFacts host, boolean runs, @Nullable Decision remembered) {
        Example example = plugin().wants("A", execution).on(host).history(history -> history.withDecision(remembered));
        return runs ? example.installed("A").active("A").runs("A") : example;
    }

    private static Execution execution(SplittableRandom random) {
        // Two rules about different facts: the rules of one fact can rule each other out, which takes more than three
        // values to see.
        ImmutableList<Rule> rules = ImmutableList.of(rule(A, random), rule(B, random));
        return new Execution(
                Execution.Type.DAEMON,
                false,
                any(State.values(), random),
                any(State.values(), random),
                any(Match.values(), random),
                rules,
                null,
                null);
    }

    private static Rule rule(HostFact fact, SplittableRandom random) {
        Operator operator = random.nextBoolean() ? Operator.EQUAL : Operator.NOT_EQUAL;
        return new Rule(fact.scope(), fact.attribute(), operator, random.nextBoolean() ? "x" : "y");
    }

    private static Observation<Optional<String>> fact(SplittableRandom random) {
        return switch (random.nextInt(5)) {
            case 0 -> Observation.seen(Optional.of("x"));
            case 1 -> Observation.seen(Optional.of("y"));
            case 2 -> Observation.seen(Optional.empty());
            default -> Observation.unseen("nobody answers");
        };
    }

    private static <T> T any(T[] all, SplittableRandom random) {
        return all[random.nextInt(all.length)];
    }
}
