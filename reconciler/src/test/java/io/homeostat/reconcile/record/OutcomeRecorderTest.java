package io.homeostat.reconcile.record;

import static io.homeostat.reconcile.plan.Example.NOW;
import static io.homeostat.reconcile.plan.Example.failed;
import static io.homeostat.reconcile.plan.Example.plugin;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.Iterables;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.desired.state.StateStore.Change;
import io.homeostat.desired.state.history.Attempts.Failures;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.observe.ObservedInstance.Loss;
import io.homeostat.observe.health.Health;
import io.homeostat.reconcile.plan.Example;
import io.homeostat.reconcile.plan.Planner;
import io.homeostat.reconcile.plan.Situation;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.plan.WorkloadPlan;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;

/** What the end of a step teaches. */
class OutcomeRecorderTest {
    private static final Outcome FAILED =
            new Outcome.Failed(FailureCause.of(FailureCause.Kind.INPUT_OUTPUT), "no luck", false);
    private static final Outcome INTERRUPTED = new Outcome.Interrupted();
    private static final Failures ONCE = new Failures(1, NOW, "no luck", false);

    @Test
    void whatIsWantedAndCanNotBeFetchedCountsAgainstItsTrial() {
        Change change = after(plugin().wants("A"), "download", FAILED);
        assertEquals(ONCE, history(change).attempts().install());
        assertEquals(Failures.NONE, history(change).attempts().upkeep());
        assertEquals(List.of("PLUGIN_INSTALL_FAILED A"), told(change));
    }

    @Test
    void theLastGoodRevisionThatCanNotBeFetchedCountsNotAgainstWhatIsDeclared() {
        Example gone = plugin().wants("B").knownGood("A").runs("A").undone(1, NOW);
        Change change = after(gone, "download", FAILED);
        assertEquals(ONCE, history(change).attempts().restore());
        assertEquals(Failures.NONE, history(change).attempts().install());
        assertEquals(List.of("PLUGIN_INSTALL_FAILED A"), told(change));
        Example cached = gone.cached("A").attempts(attempts -> attempts.withRestore(failed(1, NOW.minusSeconds(600))));
        assertEquals(
                Failures.NONE,
                history(after(cached, "unpack", Outcome.done())).attempts().restore());
    }

    @Test
    void onlyWhatIsUnpackedIsInstalled() {
        Example again =
                plugin().wants("A").attempts(attempts -> attempts.withInstall(failed(2, NOW.minusSeconds(600))));
        assertNull(after(again, "download", Outcome.done()).history());
        assertEquals(
                Failures.NONE,
                history(after(again.cached("A"), "unpack", Outcome.done()))
                        .attempts()
                        .install());
    }

    @Test
    void whatIsBrokenOffTeachesNothing() {
        assertNull(after(plugin().wants("A"), "download", INTERRUPTED).history());
        assertNull(after(plugin().wants("A").installed("A").active("A"), "launch", INTERRUPTED)
                .history());
        assertNull(after(replaced(), "stop", INTERRUPTED).history());
    }

    @Test
    void filesThatWerePutBackAreRememberedSoThatNobodyDoesSoForEver() {
        Example damaged = plugin().wants("A")
                .provenAsDeclared()
                .damaged("A")
                .active("A")
                .runs("A")
                .cached("A");
        assertEquals(
                1,
                history(after(damaged, "unpack", Outcome.done()))
                        .run()
                        .repairs()
                        .count());
        assertEquals(
                0, history(after(damaged, "unpack", FAILED)).run().repairs().count());
        assertNull(
                after(plugin().wants("A").cached("A"), "unpack", Outcome.done()).history());
    }

    @Test
    void eachLaunchAfterTheFirstIsARestart() {
        Example down = plugin().wants("A").provenAsDeclared().installed("A").active("A");
        assertEquals(1, history(launched(down)).run().restarts());
        assertNull(launched(plugin().wants("A").installed("A").active("A")).history());

        Example failedBefore = plugin().wants("A")
                .installed("A")
                .active("A")
                .attempts(attempts -> attempts.withStart(failed(1, NOW.minusSeconds(600))));
        assertEquals(1, history(launched(failedBefore)).run().restarts());
    }

    @Test
    void aStartWhoseAnswerIsNotKnownIsNotSentAgain() {
        Example listening = plugin().wants("A").installed("A").active("A").listens("A");
        Change interrupted = after(listening, "start", INTERRUPTED);
        assertEquals(Phase.START_SENT, instance(interrupted).phase());
        assertNull(interrupted.history());

        Change failed = after(listening, "start", FAILED);
        assertEquals(Phase.START_SENT, instance(failed).phase());
        assertEquals(ONCE, history(failed).attempts().start());
        assertEquals(List.of("PLUGIN_START_FAILED A"), told(failed));
    }

    @Test
    void aStartThatSucceededHasGivenTheConfiguration() {
        Example listening = plugin().wants("A").installed("A").active("A").listens("A");
        Change change = after(listening, "start", Outcome.done());
        assertEquals(Phase.STARTED, instance(change).phase());
        assertNotEquals("", instance(change).configHash());
        assertEquals(List.of("PLUGIN_STARTED A"), told(change));

        Change restarted =
                after(listening.attempts(attempts -> attempts.withRestartToConfigure(true)), "start", Outcome.done());
        assertFalse(history(restarted).attempts().restartToConfigure());
        assertEquals(List.of("PLUGIN_STARTED A", "PLUGIN_CONFIG_APPLIED A"), told(restarted));
    }

    @Test
    void aRestartThatGivesAConfigurationEndsItsFailuresSoThatALaterStartDoesNotTellItAgain() {
        Example listening = plugin().wants("A").installed("A").active("A").listens("A");
        Change restarted = after(
                listening.attempts(attempts ->
                        attempts.withConfigure(failed(1, NOW.minusSeconds(600))).withRestartToConfigure(true)),
                "start",
                Outcome.done());

        assertEquals(Failures.NONE, history(restarted).attempts().configure());
        Change later = after(listening.history(before -> history(restarted)), "start", Outcome.done());
        assertEquals(List.of("PLUGIN_STARTED A"), told(later));
    }

    @Test
    void aConfigurationIsToldOnceHoweverOftenItIsTried() {
        Example other = plugin().wants("A", "other")
                .knownGood("A")
                .installed("A")
                .active("A")
                .runs("A");
        assertEquals(
                List.of("PLUGIN_CONFIG_APPLY A", "PLUGIN_CONFIG_APPLY_FAILED A"),
                told(after(other, "applyConfig", FAILED)));
        assertEquals(
                ONCE, history(after(other, "applyConfig", FAILED)).attempts().configure());
        assertNull(after(other, "applyConfig", INTERRUPTED).history());

        other.attempts(attempts -> attempts.withConfigure(failed(1, NOW.minusSeconds(600))));
        Change second = after(other, "applyConfig", Outcome.done());
        assertEquals(List.of("PLUGIN_CONFIG_APPLIED A"), told(second));
        assertEquals(Failures.NONE, history(second).attempts().configure());
        assertTrue(history(after(other, "applyConfig", new Outcome.Unsupported()))
                .attempts()
                .restartToConfigure());
    }

    @Test
    void whatAnotherRevisionTakesThePlaceOfIsToldToBeRemoved() {
        Change upgrade = after(replaced(), "stop", Outcome.done());
        assertEquals(List.of("PLUGIN_CONFIG_REMOVE A", "PLUGIN_STOPPED A", "PLUGIN_REMOVED A"), told(upgrade));
        assertEquals(List.of("launch-A0"), upgrade.ended());
        assertEquals(Exit.Reason.STOPPED, exit(upgrade).reason());

        Example arguments = plugin().wants("A", "c", "-v")
                .knownGood("A")
                .installed("A")
                .active("A")
                .runs("A");
        assertEquals(List.of("PLUGIN_STOPPED A"), told(after(arguments, "stop", Outcome.done())));
    }

    @Test
    void whatCouldNotBeStoppedIsNotSaidToBe() {
        Change change = after(replaced(), "stop", FAILED);
        assertEquals(ONCE, history(change).attempts().upkeep());
        assertEquals(List.of(), told(change));
        assertEquals(List.of(), change.ended());

        Change later = after(
                replaced().attempts(attempts -> attempts.withUpkeep(failed(3, NOW.minusSeconds(3600)))),
                "stop",
                Outcome.done());
        assertEquals(Failures.NONE, history(later).attempts().upkeep());
    }

    @Test
    void whatIsStoppedForItsHealthHasCrashed() {
        Example sick = plugin().wants("A")
                .provenAsDeclared()
                .installed("A")
                .active("A")
                .runs("A", Phase.STARTED, Duration.ofHours(1), Health.failed(Health.Verdict.UNHEALTHY, "says no", NOW))
                .history(history -> history.withRun(
                        history.run().unhealthy(NOW.minusSeconds(40)).unhealthy(NOW.minusSeconds(30))));
        Change change = after(sick, "stop", Outcome.done());
        assertEquals(1, history(change).run().crashes().count());
        assertEquals(Exit.Reason.STOPPED, exit(change).reason());
        assertEquals(List.of("PLUGIN_CRASHED A"), told(change));
    }

    @Test
    void whatDidNotStartInTimeHasFailedToStart() {
        Example late =
                plugin().wants("A").installed("A").active("A").runs("A", Phase.CREATED, Duration.ofSeconds(30), null);
        Change change = after(late, "stop", Outcome.done());
        assertEquals(1, history(change).attempts().start().count());
        assertEquals(Exit.Reason.TIMED_OUT, exit(change).reason());
        assertEquals(List.of("PLUGIN_START_FAILED A"), told(change));
    }

    @Test
    void whatLostItsLogIsRememberedToHaveBeenRestartedForIt() {
        Example lost = plugin().wants("A")
                .provenAsDeclared()
                .installed("A")
                .active("A")
                .lost("A", Loss.LOG);
        Change change = after(lost, "stop", Outcome.done());
        assertEquals(1, history(change).run().repairs().count());
        assertEquals(0, history(change).run().crashes().count());
        assertEquals(List.of("PLUGIN_STOPPED A"), told(change));
    }

    @Test
    void ofWhatMayRunOutOfSightItIsNotToldThatNothingIsLeft() {
        Example unwanted = plugin().wasWanted().knownGood("A").installed("A");
        Exit exit = new Exit(null, null, Exit.Reason.DRIVER_GONE, NOW);
        unwanted.history(history -> history.withRun(history.run().withExit(exit)));

        assertEquals(
                "nothing of it that can be seen is left on this machine",
                after(unwanted, "remove", Outcome.done()).events().getFirst().message());
    }

    @Test
    void whatIsRemovedIsForgottenAndWhatCanNotBeIsNot() {
        Example unwanted = plugin().wasWanted().knownGood("A").installed("A");
        Change removed = after(unwanted, "remove", Outcome.done());
        assertTrue(removed.dropHistory());
        assertEquals(List.of("PLUGIN_REMOVED A"), told(removed));

        Change failed = after(unwanted, "remove", FAILED);
        assertFalse(failed.dropHistory());
        assertEquals(ONCE, history(failed).attempts().upkeep());
        assertEquals(List.of("PLUGIN_REMOVE_FAILED A"), told(failed));
    }

    private static Example replaced() {
        return plugin().wants("B")
                .knownGood("A")
                .installed("A")
                .installed("B")
                .active("A")
                .runs("A");
    }

    private static Change launched(Example example) {
        Instance instance =
                plugin().wants("A").runs("A").situation().instances().getFirst().instance();
        return after(example, "launch", Outcome.launched(instance));
    }

    /** What is stored when the first step of the plan, which is that one, has ended so. */
    private static Change after(Example example, String step, Outcome outcome) {
        Situation situation = example.learned().situation();
        WorkloadPlan plan = Planner.plan(situation);
        Step first = plan.next().orElseThrow();
        assertEquals(step, first.word());
        return OutcomeRecorder.stepped(situation, plan, first, outcome);
    }

    private static WorkloadHistory history(Change change) {
        return Objects.requireNonNull(change.history());
    }

    private static Exit exit(Change change) {
        return Objects.requireNonNull(history(change).run().lastExit());
    }

    private static Instance instance(Change change) {
        return Iterables.getOnlyElement(change.instances());
    }

    private static List<String> told(Change change) {
        return change.events().stream()
                .map(event -> event.type() + " " + event.revision())
                .toList();
    }
}
