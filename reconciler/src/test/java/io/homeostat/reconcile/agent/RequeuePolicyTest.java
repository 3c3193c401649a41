package io.homeostat.reconcile.agent;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.DesiredState;
import io.homeostat.desired.model.Source;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.desired.state.history.WorkloadHistory.LastKnownGood;
import io.homeostat.reconcile.Written;
import io.homeostat.reconcile.loop.PassResult;
import io.homeostat.reconcile.plan.Action;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.plan.WorkloadPlan;
import io.homeostat.reconcile.runtime.timer.TimerKind;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class RequeuePolicyTest {
    private static final Instant NOW = Instant.parse("2026-01-01T00:00:00Z");
    private static final Duration RESYNC = Duration.ofSeconds(30);
    private static final WorkloadId ID = WorkloadId.process("a");

    private Optional<Declaration> declared = Optional.empty();
    private WorkloadHistory history = WorkloadHistory.NONE;
    private double chance;
    private final RequeuePolicy cadence = new RequeuePolicy(
            () -> new DesiredState(
                    declared.map(one -> ImmutableSortedMap.of(one.workload().id(), one))
                            .orElse(ImmutableSortedMap.of())),
            id -> history,
            () -> NOW,
            () -> RESYNC,
            () -> chance);

    @Test
    void whatNobodyDeclaresAndNothingIsLeftOfIsNotLookedAtAgain() {
        assertEquals(Optional.empty(), cadence.apply(ID, settled()));
    }

    @Test
    void whatIsWithdrawnButNotGoneYetIsLookedAtAgain() {
        assertEquals(Optional.of(Duration.ofSeconds(5)), cadence.apply(ID, later(NOW.plusSeconds(5))));
    }

    @Test
    void aProcessWithoutAProbeIsLookedAtInTheResync() {
        declare("");
        assertEquals(Optional.of(RESYNC), cadence.apply(ID, settled()));
    }

    @Test
    void aProbeIsAskedInItsInterval() {
        declare("probe: {tcp: {address: \"127.0.0.1:1\"}}, health: {interval: 3s}");
        assertEquals(Optional.of(Duration.ofSeconds(3)), cadence.apply(ID, settled()));
    }

    @Test
    void soIsThatOfTheRevisionThatMayRunInItsPlace() {
        declare("probe: {tcp: {address: \"127.0.0.1:1\"}}, health: {interval: 3s}");
        history = WorkloadHistory.NONE.withLastKnownGood(
                new LastKnownGood(declared.orElseThrow().workload(), "before", null));
        declare("");

        assertEquals(Optional.of(Duration.ofSeconds(3)), cadence.apply(ID, settled()));
    }

    @Test
    void soIsWhatSaysByItselfHowItIsAlthoughItHasStartedOnceItHasStayedAlive() {
        declare("Timer", "revision: '1', interval: 5s, health: {interval: 3s}");
        assertEquals(
                Optional.of(Duration.ofSeconds(3)), cadence.apply(new WorkloadId(TimerKind.TIMER, "a"), settled()));
    }

    @Test
    void anIntervalLongerThanTheResyncMakesNothingLater() {
        declare("probe: {tcp: {address: \"127.0.0.1:1\"}}, health: {interval: 1h}");
        assertEquals(Optional.of(RESYNC), cadence.apply(ID, settled()));
    }

    @Test
    void aLongPauseIsInterruptedByTheResync() {
        declare("");
        assertEquals(Optional.of(RESYNC), cadence.apply(ID, later(NOW.plusSeconds(3600))));
        assertEquals(Optional.of(RESYNC), cadence.apply(ID, later(Instant.MAX)));
    }

    @Test
    void whatIsDueBesideAFetchDoesNotWaitForIt() {
        declare("");
        Step.Download download = new Step.Download(ID, "key", new Source("https://bucket/a", null, RESYNC, 1));

        assertEquals(Optional.of(RESYNC), cadence.apply(ID, new PassResult.UnderWay(plan(), download)));
        assertEquals(
                Optional.of(Duration.ofSeconds(5)),
                cadence.apply(ID, new PassResult.UnderWay(plan(NOW.plusSeconds(5)), download)));
    }

    @Test
    void workloadsThatBeganTogetherComeApart() {
        declare("");
        chance = 0.5;
        assertEquals(Optional.of(Duration.ofSeconds(15)), cadence.apply(ID, settled()));
        assertEquals(Optional.of(Duration.ofMillis(28_500)), cadence.apply(ID, settled()));
    }

    @Test
    void whatWasChangedTogetherComesApartAgain() {
        declare("");
        chance = 0.5;
        assertEquals(Optional.of(Duration.ofSeconds(15)), cadence.apply(ID, settled()));
        assertEquals(Optional.of(Duration.ofSeconds(5)), cadence.apply(ID, later(NOW.plusSeconds(5))));
        assertEquals(Optional.of(Duration.ofSeconds(15)), cadence.apply(ID, settled()));
    }

    private void declare(String more) {
        declare("Process", "install: local, entryPoint: /bin/sleep" + (more.isEmpty() ? "" : ", " + more));
    }

    private void declare(String kind, String spec) {
        String text = """
                apiVersion: homeostat.io/v1
                kind: %s
                metadata: {name: a}
                spec: {%s}
                """.formatted(kind, spec);
        declared =
                Optional.of(new Declaration(Written.workload(text), SourceName.FILES, 1, "hash", ImmutableList.of()));
    }

    private static PassResult settled() {
        return new PassResult.Settled(plan());
    }

    private static PassResult later(Instant until) {
        return new PassResult.Later(plan(), new Step.Wait(ID, until, Step.Wait.Kind.RETRY, "a test"));
    }

    private static WorkloadPlan plan() {
        return plan(null);
    }

    private static WorkloadPlan plan(@Nullable Instant due) {
        return new WorkloadPlan(
                ID,
                Action.NONE,
                Reason.AT_DESIRED_STATE,
                "",
                ImmutableList.of(),
                null,
                null,
                ImmutableList.of(Reason.AT_DESIRED_STATE),
                ImmutableList.of(),
                due);
    }
}
