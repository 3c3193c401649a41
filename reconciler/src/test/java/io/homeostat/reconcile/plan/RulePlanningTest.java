package io.homeostat.reconcile.plan;

import static io.homeostat.reconcile.plan.Example.NOW;
import static io.homeostat.reconcile.plan.Example.plugin;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import io.homeostat.desired.model.Lifecycle.Execution;
import io.homeostat.desired.model.Lifecycle.Execution.State;
import io.homeostat.desired.model.Lifecycle.Rule;
import io.homeostat.desired.state.history.Condition;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.desired.state.history.WorkloadHistory.Decision;
import io.homeostat.observe.Observation;
import io.homeostat.observe.host.HostFacts;
import io.homeostat.observe.host.HostFacts.HostFact;
import io.homeostat.reconcile.record.Conditions;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

class RulePlanningTest {
    private static final Instant BEFORE = NOW.minusSeconds(600);
    private static final Exit STOPPED = new Exit(null, null, Exit.Reason.STOPPED, NOW.minusSeconds(60));

    /** Runs on Debian only. */
    private static final Execution DEBIAN = execution(State.DISABLED, State.ENABLED);

    private static final HostFacts ON_DEBIAN = on(Observation.seen(Optional.of("debian")));
    private static final HostFacts ON_ANOTHER = on(Observation.seen(Optional.of("ubuntu")));
    private static final HostFacts WHO_KNOWS = on(Observation.unseen("no permission"));

    private record Row(String situation, String planned, Supplier<Example> example) {}

    private static final List<Row> ROWS = List.of(
            new Row(
                    "it is installed where its rules match",
                    "install NOT_INSTALLED: download unpack activate launch start",
                    () -> wanted(ON_DEBIAN)),
            new Row("nothing of it is fetched where they do not", "none DISABLED", () -> wanted(ON_ANOTHER)),
            new Row("an installation is kept where they do not", "none DISABLED", () -> installed(ON_ANOTHER)),
            new Row("what runs where they do not is stopped", "stop DISABLED: stop", () -> running(ON_ANOTHER)),
            new Row("what runs where they match is left alone", "none AT_DESIRED_STATE", () -> running(ON_DEBIAN)),
            new Row("never decided: it is not started", "wait FACTS_UNKNOWN: wait", () -> installed(WHO_KNOWS)),
            new Row("never decided: it is not stopped", "wait FACTS_UNKNOWN: wait", () -> running(WHO_KNOWS)),
            new Row(
                    "unknown now, enabled before: it runs on",
                    "none AT_DESIRED_STATE",
                    () -> decided(State.ENABLED, running(WHO_KNOWS))),
            new Row(
                    "unknown now, enabled before: it is repaired like anything else",
                    "restart PROCESS_MISSING: launch start",
                    () -> decided(State.ENABLED, installed(WHO_KNOWS).provenAsDeclared())),
            new Row(
                    "unknown now, disabled before: it stays stopped",
                    "none DISABLED",
                    () -> decided(State.DISABLED, installed(WHO_KNOWS))),
            new Row(
                    "unknown now, disabled before: what could not be stopped then is stopped",
                    "stop DISABLED: stop",
                    () -> decided(State.DISABLED, running(WHO_KNOWS))),
            new Row(
                    "known again: what was disabled is started",
                    "restart ENABLED: launch start",
                    () -> decided(
                            State.DISABLED,
                            installed(ON_DEBIAN)
                                    .provenAsDeclared()
                                    .history(history ->
                                            history.withRun(history.run().withExit(STOPPED))))),
            new Row(
                    "known again: what was enabled is stopped",
                    "stop DISABLED: stop",
                    () -> decided(State.ENABLED, running(ON_ANOTHER))),
            new Row(
                    "what makes no difference need not be known",
                    "none AT_DESIRED_STATE",
                    () -> running(WHO_KNOWS, execution(State.ENABLED, State.ENABLED))),
            new Row(
                    "onMatch can disable, too",
                    "stop DISABLED: stop",
                    () -> running(ON_DEBIAN, execution(State.ENABLED, State.DISABLED))),
            new Row(
                    "without rules the default decides",
                    "stop DISABLED: stop",
                    () -> running(
                            WHO_KNOWS,
                            new Execution(
                                    Execution.Type.DAEMON,
                                    false,
                                    State.DISABLED,
                                    State.ENABLED,
                                    Execution.Match.ALL,
                                    ImmutableList.of(),
                                    null,
                                    null))),
            new Row(
                    "who is paused is not even asked",
                    "wait PAUSED: wait",
                    () -> running(ON_ANOTHER).paused("why")));

    @TestFactory
    Stream<DynamicTest> whatRulesMakeOfAPlan() {
        return ROWS.stream()
                .map(row -> DynamicTest.dynamicTest(
                        row.situation(),
                        () -> assertEquals(row.planned(), row.example().get().planned())));
    }

    @Test
    void whatIsDisabledIsStoppedWithoutCleaningUp() {
        Step.Stop stop = assertInstanceOf(
                Step.Stop.class, running(ON_ANOTHER).plan().next().orElseThrow());

        assertFalse(stop.cleanup());
        assertEquals(Step.Stop.Cause.DISABLED, stop.cause());
    }

    @Test
    void planAndConditionsSayWhichRuleDecided() {
        String why = Objects.requireNonNull(decision(wanted(ON_ANOTHER))).why();
        String words = "disabled: " + why;

        assertTrue(why.contains("'debian'") && why.contains("'ubuntu'"), why);

        assertEquals(words, running(ON_ANOTHER).plan().message());
        assertEquals(words, wanted(ON_ANOTHER).plan().message());
        assertEquals("True Disabled " + words, condition(Condition.Type.DISABLED, wanted(ON_ANOTHER)));
        assertEquals("True Disabled " + words, condition(Condition.Type.CONVERGED, wanted(ON_ANOTHER)));
        assertEquals(
                "False Enabled enabled: os ID equal 'debian' holds (it is 'debian')",
                condition(Condition.Type.DISABLED, running(ON_DEBIAN)));
    }

    @Test
    void aWaitSaysWhichFactIsUnknownAndWhy() {
        assertEquals(
                "its rules have never been decided: os ID is not known: no permission",
                wanted(WHO_KNOWS).plan().message());
        assertEquals(
                "Unknown FactsUnknown os ID is not known: no permission",
                condition(Condition.Type.DISABLED, wanted(WHO_KNOWS)));
    }

    @Test
    void whatWasDecidedBeforeSaysWhyItStays() {
        assertEquals(
                "True Disabled disabled: it was so; this stays, because os ID is not known: no permission",
                condition(Condition.Type.DISABLED, decided(State.DISABLED, installed(WHO_KNOWS))));
    }

    @Test
    void whatHasNoRulesHasNoSuchCondition() {
        assertEquals("none", condition(Condition.Type.DISABLED, plugin().wants("A")));
    }

    @Test
    void aDecisionIsRememberedAndKeepsItsTimeWhileItStaysTheSame() {
        Decision disabled = Objects.requireNonNull(decision(wanted(ON_ANOTHER)));
        assertEquals(new Decision(State.DISABLED, disabled.why(), NOW), disabled);
        assertEquals(
                new Decision(State.ENABLED, "os ID equal 'debian' holds (it is 'debian')", BEFORE),
                decision(decided(State.ENABLED, wanted(ON_DEBIAN))));
        assertEquals(
                new Decision(State.ENABLED, "os ID equal 'debian' holds (it is 'debian')", NOW),
                decision(decided(State.DISABLED, wanted(ON_DEBIAN))));
    }

    @Test
    void whatIsUnknownChangesNoDecisionAndMakesNone() {
        assertEquals(
                new Decision(State.ENABLED, "it was so", BEFORE), decision(decided(State.ENABLED, wanted(WHO_KNOWS))));
        assertNull(decision(wanted(WHO_KNOWS)));
    }

    @Test
    void aDecisionEndsWithTheDeclaration() {
        assertNull(decision(decided(State.DISABLED, plugin().wasWanted())));
    }

    @Test
    void whatIsGivenRulesWhileItRunsIsNotStoppedBeforeTheyCanBeAnswered() {
        WorkloadHistory ruleless = plugin().wants("A").learned().situation().history();

        Example next = running(WHO_KNOWS).history(history -> history.withDecision(ruleless.decision()));

        assertEquals("none AT_DESIRED_STATE", next.planned());
    }

    private static String condition(Condition.Type type, Example example) {
        Situation situation = example.learned().situation();
        return Conditions.of(situation, Planner.plan(situation)).stream()
                .filter(condition -> condition.type() == type)
                .map(condition ->
                        condition.status().word() + " " + condition.reason().word() + " " + condition.message())
                .findFirst()
                .orElse("none");
    }

    private static @Nullable Decision decision(Example example) {
        return example.learned().situation().history().decision();
    }

    private static Example wanted(HostFacts host) {
        return plugin().wants("A", DEBIAN).on(host);
    }

    private static Example installed(HostFacts host) {
        return wanted(host).installed("A").active("A");
    }

    private static Example running(HostFacts host) {
        return running(host, DEBIAN);
    }

    private static Example running(HostFacts host, Execution execution) {
        return plugin().wants("A", execution)
                .on(host)
                .installed("A")
                .active("A")
                .runs("A");
    }

    private static Example decided(State state, Example example) {
        return example.history(history -> history.withDecision(new Decision(state, "it was so", BEFORE)));
    }

    private static Execution execution(State byDefault, State onMatch) {
        Rule rule = new Rule(Rule.Scope.OS, "ID", Rule.Operator.EQUAL, "debian");
        return new Execution(
                Execution.Type.DAEMON,
                false,
                byDefault,
                onMatch,
                Execution.Match.ALL,
                ImmutableList.of(rule),
                null,
                null);
    }

    private static HostFacts on(Observation<Optional<String>> id) {
        return new HostFacts(
                Observation.seen("boot"), "instance", ImmutableMap.of(new HostFact(Rule.Scope.OS, "ID"), id));
    }
}
