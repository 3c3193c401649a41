package io.homeostat.reconcile.plan;

import static io.homeostat.reconcile.plan.Example.NOW;
import static io.homeostat.reconcile.plan.Example.failed;
import static io.homeostat.reconcile.plan.Example.plugin;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.desired.model.DesiredState.Policy;
import io.homeostat.desired.model.Lifecycle.Limits;
import io.homeostat.desired.model.schema.Cpu;
import io.homeostat.desired.model.schema.Size;
import io.homeostat.desired.state.Event;
import io.homeostat.desired.state.EventType;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.desired.state.history.Condition;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.observe.Observation;
import io.homeostat.observe.health.Health;
import io.homeostat.reconcile.record.Conditions;
import io.homeostat.reconcile.record.ObservationRecorder;
import io.homeostat.reconcile.record.Outcome;
import io.homeostat.reconcile.record.OutcomeRecorder;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** What limits do to a plan, and what is said of them. */
class LimitPlanningTest {
    private static final Limits SOME = new Limits(new Size(64 << 20), new Cpu(20), false);
    private static final Limits MORE = new Limits(new Size(128 << 20), new Cpu(20), false);
    private static final Limits REQUIRED = new Limits(new Size(64 << 20), null, true);

    @Test
    void whatRunsWithinItsLimitsIsLeftAlone() {
        assertEquals("none AT_DESIRED_STATE", running(SOME).limited(SOME).planned());
    }

    @Test
    void changedLimitsAreSetWithoutARestart() {
        Example example = running(MORE).knownGood("A").limited(SOME);
        assertEquals("configure LIMITS_CHANGED: setLimits", example.planned());
        assertEquals("limits changed: memory 64Mi -> 128Mi", example.plan().message());
    }

    @Test
    void whetherAllIsKilledTogetherIsALimitLikeTheOthers() {
        Limits together = new Limits(SOME.memory(), SOME.cpu(), false, true);
        Example example = running(together).knownGood("A").limited(SOME);
        assertEquals("configure LIMITS_CHANGED: setLimits", example.planned());
        assertEquals("limits changed: oomGroup false -> true", example.plan().message());
        assertEquals(
                "none AT_DESIRED_STATE", running(together).limited(together).planned());
    }

    @Test
    void limitsThatDoNotHoldYetAreSetBeforeStart() {
        assertEquals(
                "restart START_NOT_FINISHED: setLimits start",
                Example.plugin()
                        .wants("A", SOME)
                        .installed("A")
                        .active("A")
                        .listens("A")
                        .limited(Limits.NONE)
                        .planned());
    }

    @Test
    void limitsThatAreNoLongerDeclaredAreLifted() {
        Example example = running(Limits.NONE).limited(SOME);
        assertEquals("configure LIMITS_CHANGED: setLimits", example.planned());
        assertEquals(
                "limits changed: memory 64Mi -> unlimited, cpu 20% -> unlimited",
                example.plan().message());
    }

    @Test
    void limitsThatSomebodyChangedAreSetAgain() {
        Example example = running(SOME).provenAsDeclared().limited(MORE);
        assertEquals("configure LIMITS_DRIFTED: setLimits", example.planned());
        assertEquals(
                "limits were changed from outside: memory 128Mi instead of 64Mi",
                example.plan().message());
        assertEquals(WorkloadPlan.Bucket.REPAIR, example.plan().bucket());
    }

    @Test
    void aProcessThatIsOutsideIsBroughtBackIn() {
        Example example = running(SOME).provenAsDeclared().limited(SOME, 4711L);
        assertEquals("configure LIMITS_DRIFTED: setLimits", example.planned());
        assertEquals(
                "process 4711 is outside its control groups, so its limits do not hold for it",
                example.plan().message());
    }

    @Test
    void whereAProcessIsDoesNotMatterWithoutLimits() {
        assertEquals(
                "none AT_DESIRED_STATE",
                running(Limits.NONE).limited(Limits.NONE, 4711L).planned());
    }

    @Test
    void limitsThatCouldNotBeSeenAreLeftAlone() {
        assertEquals(
                "none AT_DESIRED_STATE",
                running(SOME).limited(Observation.unseen("input/output error")).planned());
    }

    @Test
    void whatIsUnhealthyIsRestartedAndNotLimitedFirst() {
        Example example = plugin().wants("A", SOME)
                .installed("A")
                .active("A")
                .provenAsDeclared()
                .limited(MORE)
                .runs("A", Phase.STARTED, Duration.ofHours(1), sick())
                .history(history -> history.withRun(history.run()
                        .unhealthy(NOW.minusSeconds(60))
                        .unhealthy(NOW.minusSeconds(50))
                        .unhealthy(NOW.minusSeconds(40))));
        assertEquals("restart UNHEALTHY: stop launch start", example.planned());
    }

    @Test
    void limitsThatCouldNotBeSetAreTriedAgainLater() {
        Example example = running(SOME).provenAsDeclared().limited(MORE);
        assertEquals(
                "wait STEP_FAILED: wait",
                example.attempts(attempts -> attempts.withLimits(failed(3, NOW)))
                        .planned());
        assertTrue(example.plan().message().startsWith("could not set its limits: no luck; next try at"));
        assertTrue(example.under(Policy.NONE.once())
                .plan()
                .message()
                .endsWith("no luck; no agent runs that would try again, the next homeostat apply of it does"));
        example.under(Policy.NONE);
        assertEquals(
                "configure LIMITS_DRIFTED: setLimits",
                example.attempts(attempts -> attempts.withLimits(failed(3, NOW.minusSeconds(600))))
                        .planned());
    }

    @Test
    void limitsThatCouldNotBeSetStopNoUpgrade() {
        Example example = plugin().wants("B", SOME)
                .knownGood("A")
                .installed("A")
                .installed("B")
                .active("A")
                .runs("A")
                .limited(MORE)
                .attempts(attempts -> attempts.withLimits(failed(3, NOW)));
        assertTrue(example.planned().startsWith("upgrade REVISION_CHANGED: stop activate launch"), example.planned());
    }

    @Test
    void whatCanNotBeLimitedRunsAllTheSameAndSaysSo() {
        assertEquals(
                "install NOT_INSTALLED: launch start",
                plugin().wants("A", SOME)
                        .installed("A")
                        .active("A")
                        .unlimitable()
                        .planned());
        Example running = running(SOME).unlimitable();
        assertEquals("none AT_DESIRED_STATE", running.planned());
        Condition condition = limitsNotEnforced(running).orElseThrow();
        assertEquals(Condition.Status.TRUE, condition.status());
        assertTrue(condition.message().contains("can't enforce limits.memory (no right)"), condition.message());
        assertTrue(condition.message().contains("Delegate=yes"), condition.message());
    }

    @Test
    void theConditionIsShownOnlyWhereLimitsAreDeclaredAndDoNotHold() {
        assertEquals(Optional.empty(), limitsNotEnforced(running(Limits.NONE).unlimitable()));
        assertEquals(Optional.empty(), limitsNotEnforced(running(SOME).limited(SOME)));
        Condition unseen = limitsNotEnforced(running(SOME).limited(Observation.unseen("input/output error")))
                .orElseThrow();
        assertEquals(Condition.Status.UNKNOWN, unseen.status());
        Condition refused = limitsNotEnforced(running(SOME)
                        .provenAsDeclared()
                        .limited(MORE)
                        .attempts(attempts -> attempts.withLimits(failed(1, NOW))))
                .orElseThrow();
        assertEquals("no luck", refused.message());
    }

    @Test
    void whatMustNotRunWithoutLimitsIsNotLaunched() {
        Example example =
                plugin().wants("A", REQUIRED).installed("A").active("A").unlimitable();
        assertEquals("wait LIMITS_NOT_ENFORCEABLE: wait", example.planned());
        String message = example.plan().message();
        assertTrue(message.startsWith("limits.required is true: can't enforce limits.memory (no right)"), message);
        assertEquals(
                Step.Wait.Kind.DECLARATION, ((Step.Wait) example.plan().next().orElseThrow()).kind());
    }

    @Test
    void whatMustNotRunWithoutLimitsAndDoesIsNotStopped() {
        Example example = running(REQUIRED).unlimitable();
        assertEquals("wait LIMITS_NOT_ENFORCEABLE: wait", example.planned());
        assertTrue(example.plan().message().endsWith("it runs on without them"));
    }

    @Test
    void theLastGoodRevisionIsKeptWhenItsSuccessorMayNotRun() {
        Example successor = plugin().wants("B", REQUIRED)
                .knownGood("A")
                .installed("A")
                .installed("B")
                .active("A")
                .unlimitable();
        assertEquals("restart PROCESS_MISSING: launch start", successor.planned());
        assertEquals("wait LIMITS_NOT_ENFORCEABLE: wait", successor.runs("A").planned());
    }

    @Test
    void driftOfLimitsIsToldOnceAndNotAtEachAttempt() {
        Example drift = running(SOME).provenAsDeclared().limited(MORE);
        assertEquals(Optional.of(EventType.DRIFT_DETECTED), detected(drift));
        assertEquals(
                Optional.empty(),
                detected(drift.attempts(attempts -> attempts.withLimits(failed(3, NOW.minusSeconds(600))))));
        assertEquals(Optional.empty(), detected(running(MORE).knownGood("A").limited(SOME)));
    }

    @Test
    void aChangeOfLimitsIsToldWithItsOutcome() {
        Example change = running(MORE).knownGood("A").limited(SOME);
        assertEquals(
                List.of(EventType.PLUGIN_CONFIG_APPLY, EventType.PLUGIN_CONFIG_APPLIED), told(change, Outcome.done()));
        assertEquals(
                List.of(EventType.PLUGIN_CONFIG_APPLY, EventType.PLUGIN_CONFIG_APPLY_FAILED),
                told(change, new Outcome.Failed(FailureCause.of(FailureCause.Kind.INPUT_OUTPUT), "busy", false)));
        Example drift = running(SOME).provenAsDeclared().limited(MORE);
        assertEquals(List.of(), told(drift, Outcome.done()));
    }

    private static Optional<EventType> detected(Example example) {
        Situation situation = example.learned().situation();
        return ObservationRecorder.drift(situation, Planner.plan(situation)).map(Event::type);
    }

    private static List<EventType> told(Example example, Outcome outcome) {
        Situation situation = example.learned().situation();
        WorkloadPlan plan = Planner.plan(situation);
        return OutcomeRecorder.stepped(situation, plan, plan.next().orElseThrow(), outcome).events().stream()
                .map(Event::type)
                .toList();
    }

    private static Optional<Condition> limitsNotEnforced(Example example) {
        Situation situation = example.learned().situation();
        return Conditions.of(situation, Planner.plan(situation)).stream()
                .filter(condition -> condition.type() == Condition.Type.LIMITS_NOT_ENFORCED)
                .findFirst();
    }

    private static Health sick() {
        return Health.failed(Health.Verdict.UNHEALTHY, "says no", NOW);
    }

    private static Example running(Limits declared) {
        return plugin().wants("A", declared).installed("A").active("A").runs("A");
    }
}
