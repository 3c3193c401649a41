package io.homeostat.reconcile.record;

import static io.homeostat.reconcile.plan.Example.NOW;
import static io.homeostat.reconcile.plan.Example.failed;
import static io.homeostat.reconcile.plan.Example.plugin;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertLinesMatch;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.MoreCollectors;
import io.homeostat.desired.model.Lifecycle.Limits;
import io.homeostat.desired.model.schema.Size;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.desired.state.history.Condition;
import io.homeostat.desired.state.history.Condition.Status;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.desired.state.history.WorkloadHistory.FailedRevision;
import io.homeostat.observe.ObservedInstance.Liveness;
import io.homeostat.observe.health.Health;
import io.homeostat.reconcile.plan.Example;
import io.homeostat.reconcile.plan.Planner;
import io.homeostat.reconcile.plan.Situation;
import java.time.Duration;
import java.time.Instant;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** What status and the control plane are shown of a workload. */
class ConditionsTest {
    private static final Duration LONG = Duration.ofHours(1);
    private static final Health WELL = Health.healthy(NOW);
    private static final Health REPORTS =
            new Health(Health.Verdict.HEALTHY, 3, ImmutableList.of("password is hunter2"), "", NOW);
    private static final Health SICK = Health.failed(Health.Verdict.UNHEALTHY, "says no", NOW);
    private static final Exit KILLED = new Exit(null, 9, Exit.Reason.SIGNALED, NOW);

    private record Row(String situation, Condition.Type type, String shown, Supplier<Example> example) {}

    @TestFactory
    Stream<DynamicTest> whatIsShown() {
        return Stream.of(
                        row("what is as declared", Condition.Type.CONVERGED, "TRUE AtDesiredState", () -> good()),
                        row("what is not", Condition.Type.CONVERGED, "FALSE NotInstalled", () -> plugin().wants("A")),
                        row(
                                "what could not be looked at",
                                Condition.Type.CONVERGED,
                                "UNKNOWN CannotObserve: could not look: no permission",
                                () -> good().blind("no permission")),
                        row("what is well", Condition.Type.HEALTHY, "TRUE Healthy", () -> good()),
                        row(
                                "what reports a code of its own",
                                Condition.Type.HEALTHY,
                                "FALSE CodeReported: it reports code 3",
                                () -> installed().runs("A", Phase.STARTED, LONG, REPORTS)),
                        row(
                                "what could not be looked at, either way",
                                Condition.Type.HEALTHY,
                                "UNKNOWN CannotObserve: .* no permission",
                                () -> good().blind("no permission")),
                        row("what does not run", Condition.Type.HEALTHY, "FALSE NotRunning", () -> installed()),
                        row(
                                "what left a child behind does not run",
                                Condition.Type.HEALTHY,
                                "FALSE NotRunning",
                                () -> installed().is("A", new Liveness.Orphaned(KILLED, 1))),
                        row(
                                "one that runs beside what an earlier one left behind",
                                Condition.Type.HEALTHY,
                                "TRUE Healthy",
                                () -> installed()
                                        .is("A", new Liveness.Orphaned(KILLED, 1))
                                        .runs("A")),
                        row(
                                "what is starting",
                                Condition.Type.HEALTHY,
                                "UNKNOWN Starting",
                                () -> installed().runs("A", Phase.CREATED, Duration.ofSeconds(1), null)),
                        row(
                                "what failed a check",
                                Condition.Type.HEALTHY,
                                "FALSE CheckFailed: says no \\(1 of 3 .*",
                                () -> installed().runs("A", Phase.STARTED, LONG, SICK)),
                        row("what nobody paused", Condition.Type.PAUSED, "FALSE NotPaused", () -> good()),
                        row(
                                "what somebody paused",
                                Condition.Type.PAUSED,
                                "TRUE PausedByUser: at work on it",
                                () -> good().paused("at work on it")),
                        row(
                                "what somebody stopped",
                                Condition.Type.PAUSED,
                                "TRUE StoppedByUser: at work on it",
                                () -> good().stopped("at work on it")),
                        row("what is tried again", Condition.Type.GIVEN_UP, "FALSE Trying", () -> good()),
                        row(
                                "an upgrade that was undone",
                                Condition.Type.ROLLED_BACK,
                                "TRUE UpgradeFailed: revision B was undone: never listens",
                                () -> good().wants("B").undone(1, NOW)),
                        row(
                                "one whose declaration is another by now",
                                Condition.Type.ROLLED_BACK,
                                "FALSE NoFailedUpgrade",
                                () -> good().history(history -> history.withFailed(
                                        new FailedRevision("former", "B", 1, NOW, "never listens")))),
                        row(
                                "limits that could not be set",
                                Condition.Type.LIMITS_NOT_ENFORCED,
                                "TRUE NotSet: no luck",
                                () -> limited()
                                        .limited(Limits.NONE)
                                        .attempts(attempts -> attempts.withLimits(failed(1, NOW)))))
                .map(row -> DynamicTest.dynamicTest(
                        row.type() + " of " + row.situation(),
                        () -> assertLinesMatch(
                                ImmutableList.of(row.shown()),
                                ImmutableList.of(words(
                                        condition(row.type(), row.example().get()))))));
    }

    @Test
    void limitsThatCouldNotBeSetOnceAndHoldByNowAreEnforced() {
        Example held = limited()
                .limited(new Limits(new Size(64 << 20), null, false))
                .attempts(attempts -> attempts.withLimits(failed(1, NOW)));
        assertEquals(
                0L,
                Conditions.of(held.learned().situation(), held.plan()).stream()
                        .filter(condition -> condition.type() == Condition.Type.LIMITS_NOT_ENFORCED)
                        .count());
    }

    @Test
    void whatStaysAsItWasKeepsItsTimeWhateverElseChanged() {
        Instant before = NOW.minusSeconds(600);
        ImmutableList<Condition> were = ImmutableList.of(
                new Condition(Condition.Type.CONVERGED, Status.FALSE, Reason.NOT_INSTALLED, "not installed", before),
                new Condition(Condition.Type.HEALTHY, Status.TRUE, Reason.HEALTHY, "", before),
                new Condition(Condition.Type.GIVEN_UP, Status.FALSE, Reason.TRYING, "", before.plusSeconds(1)));
        Example example =
                installed().runs("A", Phase.STARTED, LONG, WELL).history(history -> history.withConditions(were));

        assertEquals(NOW, condition(Condition.Type.CONVERGED, example).lastTransitionTime());
        assertEquals(before, condition(Condition.Type.HEALTHY, example).lastTransitionTime());
        assertEquals(
                before.plusSeconds(1),
                condition(Condition.Type.GIVEN_UP, example).lastTransitionTime());
        assertEquals(NOW, condition(Condition.Type.ROLLED_BACK, example).lastTransitionTime());
    }

    @Test
    void whatIsStillNotConvergedForAnotherReasonKeepsItsTime() {
        Instant before = NOW.minusSeconds(600);
        Example example = installed()
                .history(history -> history.withConditions(ImmutableList.of(new Condition(
                        Condition.Type.CONVERGED, Status.FALSE, Reason.INSTALL_FAILED, "no luck", before))));

        assertEquals("FALSE NotInstalled", words(condition(Condition.Type.CONVERGED, example)));
        assertEquals(before, condition(Condition.Type.CONVERGED, example).lastTransitionTime());
    }

    @Test
    void eachRollbackByRequestHasItsOwnTime() {
        assertEquals(NOW, rolledBackSince(NOW.minusSeconds(600)), "that was another one");
        assertEquals(NOW.minusSeconds(3), rolledBackSince(NOW.minusSeconds(3)));
    }

    /** Where somebody asked for it 5 s ago and it was rolled back since that time already. */
    private static Instant rolledBackSince(Instant before) {
        Example example = good().wants("B")
                .knownGood("A")
                .history(history -> history.withFailed(FailedRevision.byRequest(
                                history.attempts().hash(), "B", NOW.minusSeconds(5), "rolled back to A", null))
                        .withConditions(ImmutableList.of(new Condition(
                                Condition.Type.ROLLED_BACK, Status.TRUE, Reason.ROLLED_BACK, "before", before))));
        assertEquals("TRUE RolledBack: rolled back to A", words(condition(Condition.Type.ROLLED_BACK, example)));
        return condition(Condition.Type.ROLLED_BACK, example).lastTransitionTime();
    }

    @Test
    void whatRunsUntilAFormerOneIsFetchedIsNotRolledBackYet() {
        Example example = good().wants("B")
                .knownGood("B")
                .history(history -> history.withFailed(FailedRevision.byRequest(
                        history.attempts().hash(), "B", NOW, "rolled back to A", history.lastKnownGood())))
                .succeeded("C");

        assertEquals(
                "FALSE RolledBack: is to be rolled back to A", words(condition(Condition.Type.ROLLED_BACK, example)));
    }

    private static Row row(String situation, Condition.Type type, String shown, Supplier<Example> example) {
        return new Row(situation, type, shown, example);
    }

    private static Example installed() {
        return plugin().wants("A").installed("A").active("A");
    }

    private static Example good() {
        return installed().runs("A");
    }

    private static Example limited() {
        return plugin().wants("A", new Limits(new Size(64 << 20), null, false))
                .installed("A")
                .active("A")
                .runs("A");
    }

    private static Condition condition(Condition.Type type, Example example) {
        Situation situation = example.learned().situation();
        return Conditions.of(situation, Planner.plan(situation)).stream()
                .filter(condition -> condition.type() == type)
                .collect(MoreCollectors.onlyElement());
    }

    /** "TRUE Healthy", or "FALSE CheckFailed: says no"; what a restart or an installation says for itself is left out. */
    private static String words(Condition condition) {
        boolean plans = condition.type() == Condition.Type.CONVERGED && condition.status() != Status.UNKNOWN;
        String message = plans || condition.message().isEmpty() ? "" : ": " + condition.message();
        return condition.status() + " " + condition.reason().word() + message;
    }
}
