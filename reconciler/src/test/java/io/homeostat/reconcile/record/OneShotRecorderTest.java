package io.homeostat.reconcile.record;

import static io.homeostat.reconcile.plan.OneShotExample.NOW;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.Lifecycle;
import io.homeostat.desired.model.Lifecycle.Triggers;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Event;
import io.homeostat.desired.state.EventType;
import io.homeostat.desired.state.Identity;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.desired.state.StateStore.Change;
import io.homeostat.desired.state.history.Attempts.Failures;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.desired.state.history.OneShotRun;
import io.homeostat.desired.state.history.OneShotRun.Result;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.reconcile.plan.OneShotExample;
import io.homeostat.reconcile.plan.Planner;
import io.homeostat.reconcile.plan.Situation;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.plan.Step.Stop.Cause;
import io.homeostat.reconcile.plan.WorkloadPlan;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What becomes of a one-shot's run when it can't begin, or is stopped before it is over: 3 attempts to start, by the defaults. */
class OneShotRecorderTest {
    private static final Triggers STARTUP = new Triggers(true, false, null);

    @Test
    void whatCouldNotBeginIsTriedAgainBeforeItCountsAsARun() {
        Change second = launchFails(scene().startFailed(1, NOW.minusSeconds(60)), false);

        assertEquals(2, history(second).attempts().start().count());
        assertNull(history(second).run().oneShot());
        assertEquals(List.of(EventType.PLUGIN_START_FAILED), told(second));
    }

    @Test
    void afterTheDeclaredAttemptsItIsARunThatFailed() {
        Change third = launchFails(scene().startFailed(2, NOW.minusSeconds(60)), false);

        OneShotRun run = Objects.requireNonNull(history(third).run().oneShot());
        assertEquals(Result.FAILED, run.result());
        assertEquals("no such program", run.error());
        assertEquals(Failures.NONE, history(third).attempts().start());
        assertEquals(List.of(EventType.PLUGIN_START_FAILED, EventType.PLUGIN_INSTALL_FAILED), told(third));
    }

    @Test
    void whatNoOtherTryCanHelpIsOneAtOnce() {
        Change first = launchFails(scene(), true);
        assertEquals(
                Result.FAILED,
                Objects.requireNonNull(history(first).run().oneShot()).result());
    }

    @Test
    void ofWhatRanBeforeItIsTheExecutionThatFailed() {
        Change third = launchFails(
                scene().ran(NOW.minusSeconds(600)).boot("another").startFailed(2, NOW.minusSeconds(60)), false);
        assertEquals(List.of(EventType.PLUGIN_START_FAILED, EventType.PLUGIN_EXECUTION_FAILED), told(third));
    }

    @ParameterizedTest
    @EnumSource(names = {"REMOVED", "DISABLED", "REQUESTED", "REPLACED", "REPAIRED"})
    void whatIsNotWantedAnyMoreOrIsToRunAgainHasNotRun(Cause cause) {
        assertNull(history(stopped(cause)).run().oneShot());
    }

    @ParameterizedTest
    @EnumSource(names = {"UNHEALTHY", "DRIFTED", "SURPLUS"})
    void whatIsStoppedAlthoughItIsWantedHasFailed(Cause cause) {
        OneShotRun run = Objects.requireNonNull(history(stopped(cause)).run().oneShot());
        assertEquals(Result.FAILED, run.result());
        assertEquals("process was stopped", run.error());
        Exit exit = Objects.requireNonNull(run.exit());
        assertEquals(Exit.Reason.STOPPED, exit.reason());
    }

    @Test
    void aRunWhoseProcessOutlivesItIsNotToldAgainWhenSomethingElseIsDeclared() {
        OneShotExample scene = scene().is(
                        "A",
                        new ObservedInstance.Liveness.Running(
                                new ProcessIdentity(1, 1, "boot"), Duration.ofMinutes(10), true, null));
        Change timedOut = ObservationRecorder.observed(scene.situation()).change();
        assertEquals(List.of(EventType.PLUGIN_INSTALLED, EventType.PLUGIN_EXECUTION_FAILED), told(timedOut));

        Situation redeclared =
                scene.wantsForEver("A").remembers(history(timedOut)).situation();
        Change stillThere = ObservationRecorder.observed(redeclared).change();
        assertEquals(
                Result.FAILED,
                Objects.requireNonNull(history(stillThere).run().oneShot()).result());
        Change gone = ObservationRecorder.observed(ended(redeclared).withHistory(history(stillThere)))
                .change();

        assertEquals(List.of(), told(gone));

        Situation after = withInstances(redeclared.withHistory(history(gone)), ImmutableList.of());
        assertNull(
                history(ObservationRecorder.observed(after).change()).run().oneShot(),
                "it says nothing of what is declared now");
    }

    @Test
    void aRunWithoutAProcessAnswersForTheBootOfTheHost() {
        Identity task = new Identity.Task("driver", "1", "", null, null);
        OneShotExample scene =
                scene().is("A", new ObservedInstance.Liveness.Running(task, Duration.ofSeconds(5), true, null));
        Situation situation = scene.situation();
        ObservedInstance seen = situation.instances().getFirst();
        Situation ofTask = withInstances(
                situation,
                ImmutableList.of(new ObservedInstance(seen.instance().withIdentity(task), true, seen.liveness())));

        OneShotRun run = Objects.requireNonNull(
                history(ObservationRecorder.observed(ofTask).change()).run().oneShot());

        assertEquals("boot", run.bootId());
    }

    @Test
    void aFailedRunThatIsAskedForAgainWhileItsProcessIsThereIsToldOnceAndRunsAgain() {
        OneShotExample scene = scene().is(
                        "A",
                        new ObservedInstance.Liveness.Running(
                                new ProcessIdentity(1, 1, "boot"), Duration.ofMinutes(10), true, null));
        WorkloadHistory failed =
                history(ObservationRecorder.observed(scene.situation()).change());

        Situation again = scene.remembers(failed.retriedNow()).situation();
        ObservationRecorder.Learned learned = ObservationRecorder.observed(again);

        assertEquals(List.of(), told(learned.change()));
        assertEquals(
                List.of("stop", "launch"),
                Planner.plan(learned.situation()).steps().stream()
                        .map(Step::word)
                        .limit(2)
                        .toList());
    }

    private static Situation ended(Situation situation) {
        Exit exit = new Exit(null, 9, Exit.Reason.SIGNALED, NOW);
        ObservedInstance process = situation.instances().getFirst();
        return withInstances(
                situation,
                ImmutableList.of(
                        new ObservedInstance(process.instance(), true, new ObservedInstance.Liveness.Ended(exit))));
    }

    private static Situation withInstances(Situation situation, ImmutableList<ObservedInstance> instances) {
        return situation.withSeen(situation.seen().withInstances(instances));
    }

    /** What is stored when the process of a run that goes on has been stopped. */
    private static Change stopped(Cause cause) {
        Situation situation = ObservationRecorder.observed(
                        scene().runs("A", Duration.ofSeconds(5)).situation())
                .situation();
        assertEquals(
                Result.RUNNING,
                Objects.requireNonNull(situation.history().run().oneShot()).result());
        ObservedInstance process = situation.instances().getFirst();
        assertEquals(Phase.STARTED, process.instance().phase());
        Step stop = new Step.Stop(process.instance(), cause, false, new Lifecycle.Stop(Duration.ofSeconds(30)));
        return OutcomeRecorder.stepped(situation, Planner.plan(situation), stop, Outcome.done());
    }

    private static Change launchFails(OneShotExample scene, boolean fatal) {
        Situation situation = ObservationRecorder.observed(scene.situation()).situation();
        WorkloadPlan plan = Planner.plan(situation);
        Step launch = plan.next().orElseThrow();
        assertEquals("launch", launch.word());
        return OutcomeRecorder.stepped(
                situation,
                plan,
                launch,
                new Outcome.Failed(FailureCause.of(FailureCause.Kind.FILE_MISSING), "no such program", fatal));
    }

    private static OneShotExample scene() {
        return new OneShotExample(WorkloadId.process("p")).wants("A", STARTUP);
    }

    private static WorkloadHistory history(Change change) {
        return Objects.requireNonNull(change.history());
    }

    private static List<EventType> told(Change change) {
        return change.events().stream().map(Event::type).toList();
    }
}
