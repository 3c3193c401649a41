package io.homeostat.reconcile.record;

import static io.homeostat.reconcile.plan.Example.NOW;
import static io.homeostat.reconcile.plan.Example.failed;
import static io.homeostat.reconcile.plan.Example.plugin;
import static io.homeostat.reconcile.plan.Example.process;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.Lifecycle.Restart.Policy;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.desired.state.history.Attempts.Failures;
import io.homeostat.desired.state.history.Condition;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.desired.state.history.RunRecord.Completed;
import io.homeostat.desired.state.history.RunRecord.Stop;
import io.homeostat.desired.state.history.RunRecord.Stop.Meaning;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.desired.state.history.WorkloadHistory.FailedRevision;
import io.homeostat.desired.state.history.WorkloadHistory.LastKnownGood;
import io.homeostat.reconcile.plan.Example;
import io.homeostat.reconcile.plan.Planner;
import io.homeostat.reconcile.plan.Situation;
import io.homeostat.reconcile.plan.WorkloadPlan;
import io.homeostat.reconcile.record.ObservationRecorder.Learned;
import io.homeostat.reconcile.sim.Wish;
import io.homeostat.reconcile.status.WorkloadState;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** What the ends of a daemon come to that is launched again only after a failure. */
class CompletionRecorderTest {
    private static final Exit DONE = new Exit(0, null, Exit.Reason.EXITED, NOW);
    private static final Wish ON_FAILURE = Wish.of("A", ImmutableList.of(), "c").restarted(Policy.ON_FAILURE);

    @Test
    void aCleanEndIsWrittenDownAndToldAsThatOfAOneShot() {
        Learned learned = installed(process(), ON_FAILURE)
                .knownGood(ON_FAILURE)
                .history(history -> history.withRun(history.run().withCrashes(failed(3, NOW))))
                .ended("A", DONE)
                .learned();

        WorkloadHistory history = learned.situation().history();
        assertEquals(List.of("PLUGIN_EXECUTION_COMPLETED A: process " + DONE.words() + ", after 1m"), told(learned));
        assertEquals(DONE, Objects.requireNonNull(history.run().completed()).exit());
        assertEquals("boot", Objects.requireNonNull(history.run().completed()).bootId());
        assertEquals(DONE, history.run().lastExit());
        assertEquals(Failures.NONE, history.run().crashes());
    }

    @Test
    void whatHasCompletedIsWellAndDone() {
        Situation situation =
                installed(process(), ON_FAILURE).ended("A", DONE).learned().situation();
        WorkloadPlan plan = Planner.plan(situation);

        assertEquals(WorkloadState.EXECUTION_COMPLETED, WorkloadState.of(situation, plan));
        assertEquals(
                List.of("CONVERGED TRUE COMPLETED", "HEALTHY TRUE COMPLETED"),
                Conditions.of(situation, plan).stream()
                        .limit(2)
                        .map(CompletionRecorderTest::words)
                        .toList());
    }

    private static String words(Condition condition) {
        return condition.type() + " " + condition.status() + " " + condition.reason();
    }

    @Test
    void aRevisionThatCompletesIsGoodHoweverSoonThatIs() {
        Learned learned = installed(process(), ON_FAILURE)
                .knownGood("former")
                .ended("A", Phase.CREATED, DONE)
                .learned();

        LastKnownGood good =
                Objects.requireNonNull(learned.situation().history().lastKnownGood());
        assertEquals("A", good.workload().revision());
        assertEquals(declared(learned).hash(), good.hash());
        assertEquals(
                List.of(
                        "PLUGIN_STARTED A: started",
                        "PLUGIN_INSTALLED A: installed, and works",
                        "PLUGIN_EXECUTION_COMPLETED A: process " + DONE.words() + ", after 1m"),
                told(learned));
    }

    @Test
    void aPluginThatEndsBeforeItWasStartedHasDoneNothing() {
        Learned learned =
                installed(plugin(), ON_FAILURE).ended("A", Phase.CREATED, DONE).learned();

        assertNull(learned.situation().history().run().completed());
        assertEquals(1, learned.situation().history().run().crashes().count());
        assertEquals(List.of("PLUGIN_START_FAILED A: process " + DONE.words()), told(learned));
    }

    @TestFactory
    Stream<DynamicTest> anyOtherEndIsACrash() {
        return Stream.of(
                        new Exit(3, null, Exit.Reason.EXITED, NOW),
                        new Exit(null, 15, Exit.Reason.SIGNALED, NOW),
                        new Exit(0, null, Exit.Reason.OOM_KILLED, NOW),
                        new Exit(null, null, Exit.Reason.UNKNOWN, NOW))
                .map(exit -> DynamicTest.dynamicTest(
                        exit.words(),
                        () -> requireCrashed(
                                ON_FAILURE, installed(process(), ON_FAILURE).ended("A", exit))));
    }

    @Test
    void soIsACleanEndOfWhatIsToRunAlways() {
        for (Wish always : List.of(ON_FAILURE.restarted(Policy.ALWAYS), ON_FAILURE.restarted(null))) {
            requireCrashed(always, installed(process(), always).ended("A", DONE));
        }
    }

    @Test
    void soIsTheEndOfWhatWeWereStoppingAsIllWhenWeDied() {
        requireCrashed(ON_FAILURE, beingStopped(Meaning.FAILED));
    }

    @Test
    void theEndOfWhatWeWereStoppingOtherwiseIsNeither() {
        Learned learned = beingStopped(Meaning.STOPPED).learned();

        assertNull(learned.situation().history().run().completed());
        assertEquals(0, learned.situation().history().run().crashes().count());
        assertEquals(List.of("PLUGIN_STOPPED A: it was being stopped; process exited with status 0"), told(learned));
    }

    private static Example beingStopped(Meaning meaning) {
        return installed(process(), ON_FAILURE)
                .history(history -> history.withRun(history.run().withStop(new Stop("launch-A0", meaning))))
                .ended("A", DONE);
    }

    private static void requireCrashed(Wish wish, Example example) {
        Learned learned = example.knownGood(wish).learned();

        assertNull(learned.situation().history().run().completed());
        assertEquals(1, learned.situation().history().run().crashes().count());
        assertEquals("PLUGIN_CRASHED", told(learned).getFirst().split(" ", 2)[0]);
    }

    @Test
    void aLaunchOfTheSameEndsTheRest() {
        assertNotNull(completedBefore(installed(process(), ON_FAILURE)));
        assertNull(completedBefore(installed(process(), ON_FAILURE).runs("A")));
        assertNull(completedBefore(
                installed(process(), ON_FAILURE).ended("A", new Exit(3, null, Exit.Reason.EXITED, NOW))));
    }

    @Test
    void whatIsTriedInItsPlaceDoesNotUntilItIsSeenWell() {
        Wish next = Wish.of("B", ImmutableList.of(), "c").restarted(Policy.ON_FAILURE);

        assertNotNull(completedBefore(
                installed(process(), next).installed("B").runs("B", Phase.CREATED, Duration.ZERO, null)));
        assertNull(completedBefore(
                process().wants(next).knownGood("B").installed("B").runs("B")));
    }

    @Test
    void aRollbackToWhatHasCompletedIsThereWithoutALaunch() {
        Learned learned = process()
                .wants("B")
                .installed("A")
                .installed("B")
                .active("A")
                .knownGood(ON_FAILURE)
                .history(history -> history.withRun(history.run().withCompleted(completed()))
                        .withFailed(FailedRevision.byRequest(
                                history.attempts().hash(), "B", NOW, "rolled back to A", history.lastKnownGood())))
                .learned();

        FailedRevision undone =
                Objects.requireNonNull(learned.situation().history().failed());
        assertNull(undone.meanwhile());
        assertEquals(NOW, undone.replacedAt());
        assertEquals(List.of("AGENT_ROLLED_BACK B: rolled back to A"), told(learned));
    }

    private static Completed completed() {
        String work = Objects.requireNonNull(installed(process(), ON_FAILURE)
                        .ended("A", DONE)
                        .learned()
                        .situation()
                        .history()
                        .run()
                        .completed())
                .work();
        return new Completed(work, "former", "boot", DONE);
    }

    @Test
    void whatIsWithdrawnIsForgotten() {
        assertNull(completedBefore(process().knownGood("A").wasWanted()));
    }

    /** How A has completed, after another look. */
    private static @Nullable Completed completedBefore(Example example) {
        return example.history(history -> history.withRun(history.run().withCompleted(completed())))
                .learned()
                .situation()
                .history()
                .run()
                .completed();
    }

    private static Example installed(Example example, Wish wish) {
        return example.wants(wish).installed("A").active("A").knownGood("A");
    }

    private static Declaration declared(Learned learned) {
        return Objects.requireNonNull(learned.situation().declared());
    }

    private static List<String> told(Learned learned) {
        return learned.change().events().stream()
                .map(event -> event.type() + " " + event.revision() + ": " + event.message())
                .toList();
    }
}
