package io.homeostat.reconcile.status;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.Lifecycle.Execution;
import io.homeostat.desired.model.Lifecycle.Rule;
import io.homeostat.desired.model.Lifecycle.Triggers;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.desired.state.history.Attempts.Failures;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.observe.ObservedInstance.Liveness;
import io.homeostat.reconcile.plan.Example;
import io.homeostat.reconcile.plan.Planner;
import io.homeostat.reconcile.plan.Relations;
import io.homeostat.reconcile.plan.Relations.Need;
import io.homeostat.reconcile.record.ObservationRecorder.Learned;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** One row a state: where a workload is, and the word for it. */
class WorkloadStateTest {
    private static final Execution ONCE = new Execution(
            Execution.Type.ONE_SHOT,
            false,
            Execution.State.ENABLED,
            Execution.State.ENABLED,
            Execution.Match.ALL,
            ImmutableList.of(),
            new Triggers(true, false, null),
            null);

    private static final Exit KILLED = new Exit(137, 9, Exit.Reason.SIGNALED, Example.NOW);

    @Test
    void whatRunsAndWasStartedIsRunning() {
        expect(
                WorkloadState.RUNNING,
                Example.plugin().wants("A").installed("A").active("A").runs("A").knownGood("A"));
    }

    @Test
    void anUpgradeThatIsStillToComeLeavesTheOldRevisionRunning() {
        expect(
                WorkloadState.RUNNING,
                Example.plugin().wants("B").installed("A").active("A").runs("A").knownGood("A"));
    }

    @Test
    void whatIsLaunchedButNotStartedIsStarting() {
        expect(
                WorkloadState.STARTING,
                Example.plugin().wants("A").installed("A").active("A").listens("A"));
        expect(
                WorkloadState.STARTING,
                Example.plugin()
                        .wants("A")
                        .installed("A")
                        .active("A")
                        .runs("A", Phase.CREATED, Duration.ofSeconds(1), null));
        expect(
                WorkloadState.STARTING,
                Example.plugin().wants("A").installed("A").active("A").is("A", new Liveness.Pending()));
    }

    @Test
    void whatRunsAlthoughNobodyWantsItIsStopping() {
        expect(
                WorkloadState.STOPPING,
                Example.plugin()
                        .wasWanted()
                        .installed("A")
                        .active("A")
                        .runs("A")
                        .knownGood("A"));
    }

    @Test
    void whereNobodyIsAtWorkItIsNot() {
        Learned learned = Example.plugin()
                .wasWanted()
                .installed("A")
                .active("A")
                .runs("A")
                .knownGood("A")
                .learned();
        assertEquals(
                WorkloadState.RUNNING, WorkloadState.of(learned.situation(), Planner.plan(learned.situation()), false));
    }

    @Test
    void whatNobodyRemembersIsNotBeingStopped() {
        expect(
                WorkloadState.RUNNING,
                Example.plugin().installed("A").active("A").runs("A"));
    }

    @Test
    void whatIsLeftOfAWorkloadThatNobodyWantsIsStopped() {
        expect(WorkloadState.STOPPED, Example.plugin().installed("A").active("A"));
    }

    @Test
    void whatIsDeclaredAndNotThereIsInstalling() {
        expect(WorkloadState.INSTALLING, Example.plugin().wants("A"));
        expect(WorkloadState.INSTALLING, Example.plugin().wants("A").installed("A"));
    }

    @Test
    void whatCouldNotBeFetchedHasFailedToInstall() {
        Failures failed = Example.failed(1, Example.NOW);
        expect(
                WorkloadState.INSTALL_FAILED,
                Example.plugin().wants("A").attempts(attempts -> attempts.withInstall(failed)));
    }

    @Test
    void aFirstStartIsStartingUntilItsAttemptsAreUsedUp() {
        Failures once = Example.failed(1, Example.NOW);
        Failures thrice = Example.failed(3, Example.NOW);
        expect(
                WorkloadState.STARTING,
                Example.plugin().wants("A").installed("A").attempts(attempts -> attempts.withStart(once)));
        expect(
                WorkloadState.INSTALL_FAILED,
                Example.plugin().wants("A").installed("A").attempts(attempts -> attempts.withStart(thrice)));
    }

    @Test
    void whatRanAndEndedByItselfHasCrashed() {
        expect(
                WorkloadState.CRASHED,
                Example.plugin()
                        .wants("A")
                        .installed("A")
                        .active("A")
                        .knownGood("A")
                        .ended("A", KILLED));
        expect(
                WorkloadState.CRASHED,
                Example.plugin()
                        .wants("A")
                        .installed("A")
                        .active("A")
                        .knownGood("A")
                        .is("A", new Liveness.Orphaned(KILLED, 2)));
    }

    @Test
    void whatWasStoppedIsStopped() {
        Exit stopped = new Exit(null, null, Exit.Reason.STOPPED, Example.NOW);
        expect(
                WorkloadState.STOPPED,
                Example.plugin()
                        .wants("A")
                        .installed("A")
                        .active("A")
                        .knownGood("A")
                        .history(history -> history.withRun(history.run().withExit(stopped))));
    }

    @Test
    void whatCanNotBeSeenHasNoState() {
        expect(
                WorkloadState.STATE_VALUE_UNSPECIFIED,
                Example.plugin().wants("A").blind("no permission"));
    }

    @Test
    void whatIsPausedIsWhatItIsWithoutAnybodyDoingAnythingAboutIt() {
        expect(
                WorkloadState.RUNNING,
                Example.plugin()
                        .wasWanted()
                        .installed("A")
                        .active("A")
                        .runs("A")
                        .paused("why"));
        expect(WorkloadState.STOPPED, Example.plugin().wants("A").paused("why"));
        expect(
                WorkloadState.CRASHED,
                Example.plugin()
                        .wants("A")
                        .installed("A")
                        .active("A")
                        .knownGood("A")
                        .ended("A", KILLED)
                        .paused("why"));
    }

    @Test
    void whatNobodyCouldEverDecideIsStopped() {
        for (Execution.Type type : Execution.Type.values()) {
            Rule rule = new Rule(Rule.Scope.OS, "ID", Rule.Operator.EQUAL, "debian");
            Triggers triggers = type == Execution.Type.ONE_SHOT ? new Triggers(true, false, null) : null;
            Execution execution = new Execution(
                    type,
                    false,
                    Execution.State.DISABLED,
                    Execution.State.ENABLED,
                    Execution.Match.ALL,
                    ImmutableList.of(rule),
                    triggers,
                    null);
            expect(WorkloadState.STOPPED, Example.plugin().wants("A", execution));
        }
    }

    @Test
    void whatDependsOnSomethingThatNobodyDeclaresIsNotOnItsWay() {
        for (Example waits :
                ImmutableList.of(Example.plugin().wants("A"), Example.plugin().wants("A", ONCE))) {
            waits.installed("A").active("A");
            expect(WorkloadState.STOPPED, waits.among(needing(Need.State.UNDECLARED)));
            expect(WorkloadState.INSTALLING, waits.among(needing(Need.State.COMING)));
        }
    }

    private static Relations needing(Need.State state) {
        return new Relations(
                ImmutableList.of(new Need(WorkloadId.process("db"), state)),
                ImmutableList.of(),
                ImmutableList.of(),
                ImmutableList.of());
    }

    @Test
    void aPausedOneShotThatNeverRanIsStoppedAndNotOnItsWay() {
        expect(WorkloadState.INSTALLING, Example.plugin().wants("A", ONCE));
        expect(WorkloadState.STOPPED, Example.plugin().wants("A", ONCE).paused("why"));
        expect(
                WorkloadState.INSTALL_FAILED,
                Example.plugin()
                        .wants("A", ONCE)
                        .attempts(attempts -> attempts.withInstall(Example.failed(1, Example.NOW)))
                        .paused("why"));
    }

    private static void expect(WorkloadState expected, Example example) {
        Learned learned = example.learned();
        assertEquals(expected, WorkloadState.of(learned.situation(), Planner.plan(learned.situation())));
    }
}
