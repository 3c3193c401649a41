package io.homeostat.reconcile.plan;

import static io.homeostat.reconcile.plan.Example.NOW;
import static io.homeostat.reconcile.plan.Example.failed;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.DesiredState.Policy;
import io.homeostat.desired.model.Lifecycle.Restart;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.state.history.Attempts;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.observe.Observation;
import io.homeostat.observe.ObservedWorkload;
import io.homeostat.observe.host.HostFacts;
import io.homeostat.observe.limits.ObservedLimits;
import io.homeostat.reconcile.Written;
import java.time.Duration;
import java.time.Instant;
import java.util.Objects;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** How declared policies pace what fails or is lost again and again. */
class BackoffPlanningTest {
    @Test
    void whatNeverStartedIsGivenUpAfterAsManyRestartsAsDeclared() {
        Situation second = failedToStart(2, "restart: {giveUpAfter: 2}, start: {attempts: 1}");
        Situation third = failedToStart(3, "restart: {giveUpAfter: 2}, start: {attempts: 1}");

        assertEquals(Reason.START_FAILED, Planner.plan(second).reason());
        assertEquals(Reason.GIVEN_UP, Planner.plan(third).reason());
        assertEquals(
                "given up after 3 failures in a row: no luck; waits for another declaration or homeostat resume process/p",
                Planner.plan(third).message());
    }

    @Test
    void withoutAnAgentWhatWasGivenUpWaitsForTheNextApplyOfIt() {
        Declaration declared = declared("restart: {giveUpAfter: 2}, start: {attempts: 1}");
        WorkloadHistory history = WorkloadHistory.NONE.withAttempts(
                1, Attempts.of(declared.hash()).withStart(failed(3, NOW)));

        String message =
                Planner.plan(situation(declared, history, Policy.NONE.once())).message();
        assertTrue(message.contains(" 3 ") && message.contains(": no luck; no agent "), message);
    }

    @Test
    void theDeclaredAttemptsToStartAreMadeInAnyCase() {
        assertEquals(
                Reason.START_FAILED,
                Planner.plan(failedToStart(3, "restart: {giveUpAfter: 2}, start: {attempts: 4}"))
                        .reason());
        assertEquals(
                Reason.GIVEN_UP,
                Planner.plan(failedToStart(4, "restart: {giveUpAfter: 2}, start: {attempts: 4}"))
                        .reason());
    }

    @Test
    void repairsGoOnBeingPacedWhenThePauseIsLongerThanWhatIsRemembered() {
        Situation longAfter = repaired(12, "restart: {resetAfter: 1s}", NOW.minusSeconds(2));
        Instant next = BackoffPolicies.afterRepair(longAfter);

        assertTrue(next.isAfter(NOW), next::toString);
    }

    @Test
    void theFirstLossLongAfterThePauseIsMadeGoodAtOnce() {
        Situation longAfter = repaired(3, "restart: {resetAfter: 1s}", NOW.minusSeconds(60));
        Instant next = BackoffPolicies.afterRepair(longAfter);

        assertFalse(next.isAfter(NOW), next::toString);
    }

    @Test
    void whatIsWellAllTheSameIsNotRestartedEveryFewMinutesForEver() {
        Instant next = BackoffPolicies.afterRepair(repaired(40, "restart: {maxDelay: 5m}", NOW));

        assertTrue(next.isAfter(NOW.plus(Duration.ofMinutes(5))), next::toString);
        assertFalse(next.isAfter(NOW.plus(Duration.ofHours(24))), next::toString);
    }

    @Test
    void aProgramThatCannotStartNeverKeepsACoreBusyWhateverIsDeclared() {
        Situation failed = failedToStart(1, "restart: {initialDelay: 0s, maxDelay: 0s}, start: {attempts: 1}");

        Restart policy =
                Objects.requireNonNull(failed.declared()).workload().lifecycle().restart();
        assertEquals(NOW.plusMillis(100), BackoffPolicies.afterLastStart(failed, failed(1, NOW), policy, 1));
        assertEquals(Reason.START_FAILED, Planner.plan(failed).reason());
    }

    private static Situation failedToStart(int times, String more) {
        Declaration declared = declared(more);
        return situation(
                declared,
                WorkloadHistory.NONE.withAttempts(
                        1, Attempts.of(declared.hash()).withStart(failed(times, NOW))));
    }

    private static Situation repaired(int times, String more, Instant last) {
        Declaration declared = declared(more);
        return situation(
                declared,
                WorkloadHistory.NONE.withRun(WorkloadHistory.NONE.run().withRepairs(failed(times, last))));
    }

    private static Situation situation(Declaration declared, WorkloadHistory history) {
        return situation(declared, history, Policy.NONE);
    }

    private static Situation situation(Declaration declared, WorkloadHistory history, Policy policy) {
        ObservedWorkload seen = new ObservedWorkload(
                declared.id(),
                Observation.seen(ImmutableList.of()),
                Observation.seen(Optional.empty()),
                Observation.seen(ImmutableList.of()),
                Observation.seen(ObservedLimits.NONE),
                Observation.seen(false));
        return new Situation(
                declared,
                policy,
                seen,
                HostFacts.of("boot", "instance"),
                Relations.NONE,
                ImmutableSet.of(),
                history,
                null,
                Judgement.checks(declared, history, NOW),
                7,
                NOW);
    }

    private static Declaration declared(String more) {
        String document = """
                apiVersion: homeostat.io/v1
                kind: Process
                metadata: {name: p}
                spec: {revision: r1, install: local, entryPoint: /bin/true, %s}
                """.formatted(more);
        return new Declaration(Written.workload(document), SourceName.FILES, 1, "hash", ImmutableList.of());
    }
}
