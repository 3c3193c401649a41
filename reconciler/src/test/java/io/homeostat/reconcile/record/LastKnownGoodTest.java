package io.homeostat.reconcile.record;

import static io.homeostat.reconcile.plan.Example.NOW;
import static io.homeostat.reconcile.plan.Example.failed;
import static io.homeostat.reconcile.plan.Example.plugin;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.Lifecycle.Limits;
import io.homeostat.desired.model.schema.Size;
import io.homeostat.desired.state.Event;
import io.homeostat.desired.state.EventType;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.desired.state.history.Attempts;
import io.homeostat.desired.state.history.Attempts.Reported;
import io.homeostat.desired.state.history.Attempts.Reported.ReportedFailure;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.desired.state.history.WorkloadHistory.Asked;
import io.homeostat.desired.state.history.WorkloadHistory.FailedRevision;
import io.homeostat.desired.state.history.WorkloadHistory.LastKnownGood;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.observe.health.Health;
import io.homeostat.reconcile.plan.Example;
import io.homeostat.reconcile.plan.Situation;
import io.homeostat.reconcile.plan.Traits;
import io.homeostat.reconcile.record.ObservationRecorder.Learned;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** When what is declared counts as good, and what that puts an end to: from then on it is the last good revision. */
class LastKnownGoodTest {
    private static final Duration LONG = Duration.ofHours(1);

    private record Row(String situation, Supplier<Example> example) {}

    @Test
    void whatRunsStartedConfiguredAndWellIsProven() {
        WorkloadHistory history = after(good());
        LastKnownGood lastKnownGood = Objects.requireNonNull(history.lastKnownGood());
        assertEquals("A", lastKnownGood.workload().revision());
        assertEquals("p_A", lastKnownGood.directory());
        assertEquals(List.of(EventType.PLUGIN_INSTALLED), told(good()));
    }

    @TestFactory
    Stream<DynamicTest> nothingLessIsProof() {
        Limits some = new Limits(new Size(64 << 20), null, false);
        return Stream.of(
                        new Row(
                                "its Start has not succeeded",
                                () -> installed("A").runs("A", Phase.START_SENT, LONG, Health.healthy(NOW))),
                        new Row(
                                "it runs with another configuration",
                                () -> plugin().wants("A", "d")
                                        .installed("A")
                                        .active("A")
                                        .runs("A")),
                        new Row(
                                "it runs with other arguments",
                                () -> plugin().wants("A", "c", "--new")
                                        .installed("A")
                                        .active("A")
                                        .runs("A")),
                        new Row("another revision runs", () -> installed("B").runs("A")),
                        new Row(
                                "its installation is gone",
                                () -> plugin().wants("A").active("A").runs("A")),
                        new Row(
                                "its limits are not in force",
                                () -> plugin().wants("A", some)
                                        .installed("A")
                                        .active("A")
                                        .runs("A")
                                        .limited(Limits.NONE)),
                        new Row(
                                "it says that it is not well",
                                () -> installed("A")
                                        .runs("A", Phase.STARTED, LONG, health(Health.Verdict.UNHEALTHY))
                                        .history(history ->
                                                history.withRun(history.run().healthy(NOW.minusSeconds(1))))),
                        new Row(
                                "nobody could ask it, and it failed the check before",
                                () -> installed("A")
                                        .runs("A", Phase.STARTED, LONG, health(Health.Verdict.UNKNOWN))
                                        .history(history ->
                                                history.withRun(history.run().unhealthy(NOW.minusSeconds(20))))),
                        new Row("two of it run", () -> good().runs("A")))
                .map(row -> DynamicTest.dynamicTest(
                        row.situation(),
                        () -> assertNull(after(row.example().get()).lastKnownGood())));
    }

    @Test
    void proofEndsTheTrialAndTheUpgradeThatFailedBefore() {
        Example again = good().knownGood("B")
                .undone(2, NOW.minus(LONG))
                .attempts(attempts -> attempts.withStart(failed(2, NOW))
                        .withInstall(failed(1, NOW))
                        .withReported(Reported.of("A")
                                .and(new ReportedFailure(
                                        EventType.PLUGIN_START_FAILED,
                                        "A",
                                        FailureCause.of(FailureCause.Kind.TIMED_OUT)))));

        WorkloadHistory history = after(again);

        assertNull(history.failed());
        String hash = Objects.requireNonNull(history.lastKnownGood()).hash();
        assertEquals(Attempts.of(hash).withReported(Reported.of("A")), history.attempts());
    }

    @Test
    void whatIsProvenIsNotProvenAgain() {
        Example known = good().provenAsDeclared().attempts(attempts -> attempts.withLimits(failed(1, NOW)));
        assertEquals(1, after(known).attempts().limits().count());
        assertEquals(List.of(), told(known));
    }

    @Test
    void theSameFromAnotherDirectoryIsTheLastGoodInstallationFromThenOn() {
        Example moved = good().provenAsDeclared().history(history -> {
            LastKnownGood lastKnownGood = Objects.requireNonNull(history.lastKnownGood());
            return history.withLastKnownGood(
                    new LastKnownGood(lastKnownGood.workload(), lastKnownGood.hash(), "p_A_damaged"));
        });
        assertEquals("p_A", Objects.requireNonNull(after(moved).lastKnownGood()).directory());
        assertEquals(List.of(), told(moved));
    }

    @Test
    void whatStandsInForAFailedUpgradeHasTakenItsPlaceOnceItWorks() {
        Supplier<Example> undone = () -> plugin().wants("B")
                .installed("A")
                .installed("B")
                .active("A")
                .knownGood("A")
                .undone(1, NOW.minus(LONG));

        assertNull(replacedAt(undone.get().runs("A", Phase.START_SENT, LONG, Health.healthy(NOW))));
        assertNull(replacedAt(undone.get().runs("B")), "it is the other one");
        Example back = undone.get().runs("A");
        assertEquals(NOW, replacedAt(back));
        assertEquals(List.of(), told(back));
    }

    @Test
    void aRollbackIsToldWhenWhatWasAskedForIsLaunched() {
        Supplier<Example> asked = () -> plugin().wants("B")
                .knownGood("B")
                .history(history -> history.withFailed(FailedRevision.byRequest(
                        history.attempts().hash(), "B", NOW, "rolled back to A", history.lastKnownGood())))
                .succeeded("A")
                .installed("A")
                .installed("B")
                .active("A");

        assertEquals(List.of(), told(asked.get().runs("B")));
        Example launched = asked.get().runs("A");
        assertEquals(List.of(EventType.AGENT_ROLLED_BACK), told(launched));
        assertEquals("B", launched.learned().change().events().getFirst().revision());
        assertNull(Objects.requireNonNull(after(launched).failed()).meanwhile());
    }

    @Test
    void aRollbackThatTakesNoLaunchIsToldWhenWhatRunsIsConfiguredAsBefore() {
        LastKnownGood before = proven(plugin().wants("A", "before").provenAsDeclared());
        Situation asked = good().provenAsDeclared()
                .history(history -> history.rolledBack(
                        FailedRevision.byRequest(
                                history.attempts().hash(), "A", NOW, "rolled back to A", history.lastKnownGood()),
                        before))
                .situation();
        assertEquals(List.of(), told(ObservationRecorder.observed(asked)), "it has yet to be configured");

        ObservedInstance runs = asked.instances().getFirst();
        ObservedInstance configured = new ObservedInstance(
                runs.instance()
                        .withPhase(Phase.STARTED, Traits.of(before.workload()).configHash()),
                true,
                runs.liveness());
        Learned back =
                ObservationRecorder.observed(asked.withSeen(asked.seen().withInstances(ImmutableList.of(configured))));

        assertEquals(List.of(EventType.AGENT_ROLLED_BACK), told(back));
        FailedRevision failed =
                Objects.requireNonNull(back.situation().history().failed());
        assertNull(failed.meanwhile());
        assertEquals(NOW, failed.replacedAt());
    }

    private static LastKnownGood proven(Example example) {
        return Objects.requireNonNull(example.situation().history().lastKnownGood());
    }

    private static @Nullable Instant replacedAt(Example example) {
        FailedRevision failed = after(example).failed();
        return failed == null ? null : failed.replacedAt();
    }

    @Test
    void anotherConfigurationIsProvenWithoutBeingInstalled() {
        Example configured = plugin().wants("A", "c").installed("A").active("A").runs("A");
        Example before = plugin().wants("A", "b").provenAsDeclared();
        configured.history(history ->
                history.withLastKnownGood(before.situation().history().lastKnownGood()));

        assertEquals(
                Objects.requireNonNull(configured.situation().declared()).hash(),
                Objects.requireNonNull(after(configured).lastKnownGood()).hash());
        assertEquals(List.of(), told(configured));
    }

    private static Example good() {
        return installed("A").runs("A");
    }

    private static Example installed(String revision) {
        return plugin().wants(revision).installed(revision).active(revision);
    }

    private static Health health(Health.Verdict verdict) {
        return Health.failed(verdict, "says no", NOW);
    }

    private static WorkloadHistory after(Example example) {
        return example.learned().situation().history();
    }

    private static List<EventType> told(Example example) {
        return told(example.learned());
    }

    private static List<EventType> told(Learned learned) {
        return learned.change().events().stream().map(Event::type).toList();
    }

    @Test
    void whoInstallsAgainWhatWasGoodIsToldOnceItRunsAndNobodyHoldsIt() {
        Example runs = Example.plugin()
                .wants("A")
                .installed("A")
                .active("A")
                .runs("A")
                .provenAsDeclared()
                .history(history -> history.withAsked(Asked.NOTHING.withInstall(true)));

        assertEquals(List.of(EventType.PLUGIN_INSTALLED), told(runs));
        assertFalse(after(runs).asked().install());
        runs.paused("why");
        assertEquals(List.of(), told(runs));
        assertTrue(after(runs).asked().install());
    }
}
