package io.homeostat.reconcile.plan;

import static io.homeostat.reconcile.plan.Example.NOW;
import static io.homeostat.reconcile.plan.Example.failed;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.DesiredState.Policy;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.state.Event;
import io.homeostat.desired.state.EventType;
import io.homeostat.desired.state.history.Attempts;
import io.homeostat.desired.state.history.Condition;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.desired.state.history.WorkloadHistory.FailedRevision;
import io.homeostat.desired.state.history.WorkloadHistory.LastKnownGood;
import io.homeostat.observe.ObservedWorkload;
import io.homeostat.observe.host.HostFacts;
import io.homeostat.reconcile.Written;
import io.homeostat.reconcile.record.Conditions;
import io.homeostat.reconcile.record.ObservationRecorder;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** {@code restart.giveUpAfter: 3}. */
class GivingUpPlanningTest {
    private static final Instant LONG_AGO = NOW.minus(Duration.ofDays(1));

    @Test
    void asManyFailuresAsAllowedAreFollowedByAnotherAttempt() {
        WorkloadPlan plan = Planner.plan(crashed(3));

        assertEquals(Action.RESTART, plan.action());
    }

    @Test
    void oneMoreIsGivenUpUntilTheDeclarationChanges() {
        Situation situation = crashed(4);
        WorkloadPlan plan = Planner.plan(situation);

        assertEquals(Reason.GIVEN_UP, plan.reason());
        Step.Wait wait = assertInstanceOf(Step.Wait.class, plan.steps().getFirst());
        assertEquals(Step.Wait.Kind.DECLARATION, wait.kind());
        assertEquals(
                Condition.Status.TRUE,
                Conditions.of(situation, plan).stream()
                        .filter(condition -> condition.type() == Condition.Type.GIVEN_UP)
                        .findFirst()
                        .orElseThrow()
                        .status());
    }

    @Test
    void whatIsNeverRestartedIsGivenUpAfterItsFirstFailure() {
        assertEquals(Reason.GIVEN_UP, Planner.plan(crashed(1, "policy: never")).reason());
        assertEquals(Action.RESTART, Planner.plan(crashed(0, "policy: never")).action());
    }

    @Test
    void givingUpIsToldOnce() {
        Situation situation = crashed(4);
        WorkloadPlan plan = Planner.plan(situation);

        Event event = ObservationRecorder.givenUp(situation, plan).orElseThrow();

        assertEquals(EventType.AGENT_GIVEN_UP, event.type());
        assertEquals(plan.message(), event.message());
        Situation after = situation.withHistory(situation.history().withConditions(Conditions.of(situation, plan)));
        assertEquals(Optional.empty(), ObservationRecorder.givenUp(after, plan));
        assertEquals(Optional.empty(), ObservationRecorder.givenUp(crashed(3), Planner.plan(crashed(3))));
    }

    @Test
    void whatStandsInForAFailedRevisionIsGivenUpForBoth() {
        WorkloadHistory undone = crashed(4)
                .history()
                .withAttempts(2, Attempts.of("other"))
                .withFailed(new FailedRevision("other", "2", 1, LONG_AGO, "no luck"));
        Situation situation =
                situation(new Declaration(workload("2"), SourceName.FILES, 2, "other", ImmutableList.of()), undone);

        WorkloadPlan plan = Planner.plan(situation);

        assertEquals(Reason.GIVEN_UP, plan.reason(), "though it would be time to try it again");
        assertEquals(
                "1", ObservationRecorder.givenUp(situation, plan).orElseThrow().revision());
    }

    /** A process that was well once and has failed so often in a row since. */
    private static Situation crashed(int times) {
        return crashed(times, "giveUpAfter: 3");
    }

    private static Situation crashed(int times, String restart) {
        WorkloadHistory history = WorkloadHistory.NONE
                .withAttempts(1, Attempts.of("hash"))
                .withLastKnownGood(new LastKnownGood(workload("1", restart), "hash", null));
        return situation(
                new Declaration(workload("1", restart), SourceName.FILES, 1, "hash", ImmutableList.of()),
                history.withRun(history.run().withCrashes(failed(times, LONG_AGO))));
    }

    private static Situation situation(Declaration declared, WorkloadHistory history) {
        return new Situation(
                declared,
                Policy.NONE,
                ObservedWorkload.absent(declared.id()),
                HostFacts.of("boot", "instance"),
                Relations.NONE,
                ImmutableSet.of(),
                history,
                null,
                Judgement.checks(declared, history, NOW),
                1,
                NOW);
    }

    private static Workload workload(String revision) {
        return workload(revision, "giveUpAfter: 3");
    }

    private static Workload workload(String revision, String restart) {
        return Written.workload("""
                apiVersion: homeostat.io/v1
                kind: Process
                metadata: {name: a}
                spec: {install: local, revision: "%s", entryPoint: /bin/sleep, restart: {%s}}
                """.formatted(revision, restart));
    }
}
