package io.homeostat.reconcile.record;

import static io.homeostat.reconcile.plan.Example.NOW;
import static io.homeostat.reconcile.plan.Example.failed;
import static io.homeostat.reconcile.plan.Example.plugin;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.Lifecycle.Limits;
import io.homeostat.desired.model.schema.Size;
import io.homeostat.desired.state.history.Attempts;
import io.homeostat.desired.state.history.Attempts.Failures;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.desired.state.history.WorkloadHistory.FailedRevision;
import io.homeostat.reconcile.plan.Example;
import io.homeostat.reconcile.plan.Planner;
import io.homeostat.reconcile.plan.Situation;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.plan.WorkloadPlan;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;

/** What the end of a process, or a launch that failed, counts against: 3 attempts to start, by the defaults. */
class LaunchFailureTest {
    private static final Exit KILLED = new Exit(null, 9, Exit.Reason.SIGNALED, NOW);
    private static final String ERROR = "process " + KILLED.words();

    @Test
    void whatWasNeverSeenWellHasFailedToStart() {
        WorkloadHistory history = after(plugin().wants("A").ended("A", KILLED));

        assertEquals(new Failures(1, NOW, ERROR, false), history.attempts().start());
        assertEquals(Failures.NONE, history.run().crashes());
    }

    @Test
    void whatEndsWithoutAFailureIsToldHowItStaysOrMayEnd() {
        Exit done = new Exit(0, null, Exit.Reason.EXITED, NOW);

        assertEquals(
                "process " + done.words() + "; what is to stay has to run in the foreground, and what is to end is"
                        + " declared with restart.policy onFailure or execution.type oneShot",
                after(plugin().wants("A").ended("A", done)).attempts().start().error());
        assertEquals(
                "process " + done.words(),
                after(plugin().wants("B").knownGood("A").ended("A", done))
                        .run()
                        .crashes()
                        .error());
    }

    @Test
    void whatRunsOutOfMemoryIsToldHowMuchItMayHave() {
        Exit killed = new Exit(137, 9, Exit.Reason.OOM_KILLED, NOW);
        Limits limits = new Limits(new Size(32 << 20), null, false);

        assertEquals(
                "process " + killed.words() + "; limits.memory is 32Mi: raise it, or have the program" + " use less",
                after(plugin().wants("A", limits).ended("A", killed))
                        .run()
                        .crashes()
                        .error());
        assertEquals(
                "process " + killed.words(),
                after(plugin().wants("A").ended("A", killed)).attempts().start().error());
    }

    @Test
    void whatWasSeenWellHasCrashed() {
        WorkloadHistory history = after(plugin().wants("A").provenAsDeclared().ended("A", KILLED));

        assertEquals(new Failures(1, NOW, ERROR, false), history.run().crashes());
        assertEquals(Failures.NONE, history.attempts().start());
    }

    @Test
    void theEndOfTheLastGoodRevisionCountsNotAgainstWhatIsToTakeItsPlace() {
        WorkloadHistory history =
                after(upgrade(attempts -> attempts.withStart(failed(2, NOW))).ended("A", KILLED));

        assertEquals(1, history.run().crashes().count());
        assertEquals(2, history.attempts().start().count());
        assertNull(history.failed());
    }

    @Test
    void anUpgradeThatHasFailedAsOftenAsItMayIsUndone() {
        Example third = upgrade(attempts -> attempts.withStart(failed(2, NOW)).withRestartToConfigure(true))
                .ended("B", KILLED);

        WorkloadHistory history = after(third);
        assertEquals(new FailedRevision(hash(third), "B", 1, NOW, ERROR), history.failed());
        assertEquals(Failures.NONE, history.attempts().start());
        assertEquals(hash(third), history.attempts().hash());
        assertFalse(history.attempts().restartToConfigure());
        assertEquals(Failures.NONE, history.run().crashes());
        assertEquals(
                List.of(
                        "PLUGIN_CRASHED " + ERROR,
                        "PLUGIN_INSTALL_FAILED " + ERROR,
                        "AGENT_ROLLED_BACK undone, going back to revision A: " + ERROR),
                told(third));
    }

    @Test
    void whatIsGoneBackToIsNamedByTheBeginningOfALongRevision() {
        String old = "a".repeat(100_000);
        Example third = plugin().wants("B")
                .knownGood(old)
                .attempts(attempts -> attempts.withStart(failed(2, NOW)))
                .ended("B", KILLED);

        String told = told(third).getLast();
        assertTrue(told.startsWith("AGENT_ROLLED_BACK ") && told.contains(" revision aa"), told);
        assertTrue(told.length() < 1_000, () -> told.length() + " characters");
    }

    @Test
    void oneAttemptLessUndoesNothing() {
        Example second = upgrade(attempts -> attempts.withStart(failed(1, NOW))).ended("B", KILLED);

        assertEquals(2, after(second).attempts().start().count());
        assertNull(after(second).failed());
        assertEquals(List.of("PLUGIN_CRASHED " + ERROR), told(second));
    }

    @Test
    void howOftenTheSameUpgradeWasUndoneIsCounted() {
        Example again = upgrade(attempts -> attempts.withStart(failed(2, NOW)))
                .undone(4, NOW.minus(Duration.ofDays(1)))
                .ended("B", KILLED);

        FailedRevision failed = Objects.requireNonNull(after(again).failed());
        assertEquals(5, failed.times());
        assertEquals(NOW, failed.at());
    }

    @Test
    void withNothingToGoBackToItIsSaidOnceAndTriedAgain() {
        Example third = plugin().wants("A")
                .attempts(attempts -> attempts.withStart(failed(2, NOW)))
                .ended("A", KILLED);
        assertEquals(3, after(third).attempts().start().count());
        assertNull(after(third).failed());
        assertEquals(List.of("PLUGIN_CRASHED " + ERROR, "PLUGIN_INSTALL_FAILED " + ERROR), told(third));

        Example fourth = plugin().wants("A")
                .attempts(attempts -> attempts.withStart(failed(3, NOW)))
                .ended("A", KILLED);
        assertEquals(4, after(fourth).attempts().start().count());
        assertEquals(List.of("PLUGIN_CRASHED " + ERROR), told(fourth));
    }

    @Test
    void whatCanNotBeHelpedByAnotherTryIsUndoneAtOnce() {
        Example launch = upgrade(attempts -> attempts).installed("B").active("B");
        Situation situation = launch.learned().situation();
        WorkloadPlan plan = Planner.plan(situation);
        Step step = plan.steps().stream()
                .filter(Step.Launch.class::isInstance)
                .findFirst()
                .orElseThrow();

        WorkloadHistory history = Objects.requireNonNull(OutcomeRecorder.stepped(
                        situation,
                        plan,
                        step,
                        new Outcome.Failed(FailureCause.of(FailureCause.Kind.FILE_MISSING), "no such program", true))
                .history());

        assertEquals("no such program", Objects.requireNonNull(history.failed()).error());
    }

    /** Revision A was seen well, B is to take its place. */
    private static Example upgrade(UnaryOperator<Attempts> attempts) {
        return plugin().wants("B").knownGood("A").attempts(attempts);
    }

    private static String hash(Example example) {
        Declaration declared = Objects.requireNonNull(example.situation().declared());
        return declared.hash();
    }

    private static WorkloadHistory after(Example example) {
        return example.learned().situation().history();
    }

    private static List<String> told(Example example) {
        return example.learned().change().events().stream()
                .map(event -> event.type() + " " + event.message())
                .toList();
    }
}
