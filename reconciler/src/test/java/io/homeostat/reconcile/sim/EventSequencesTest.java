package io.homeostat.reconcile.sim;

import static io.homeostat.reconcile.sim.ToldEvents.ID;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.desired.state.Event;
import io.homeostat.desired.state.EventType;
import io.homeostat.desired.state.history.Condition;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The sequences of events that control planes written for the guest agent expect. */
class EventSequencesTest {
    private final ToldEvents plugin = new ToldEvents();

    @Test
    void anInstallation() {
        plugin.declare("GOOD-A", "c");

        assertEquals(List.of("CONFIG_INSTALL A", "STARTED A", "INSTALLED A"), plugin.happens());
    }

    @Test
    void anInstallationThatCanNotBeFetched() {
        plugin.declare("UNFETCHABLE-A", "c");

        assertEquals(List.of("CONFIG_INSTALL A", "INSTALL_FAILED A"), plugin.happens());
    }

    @Test
    void anInstallationThatDoesNotStart() {
        plugin.declare("START_ERROR-A", "c");

        assertEquals(List.of("CONFIG_INSTALL A", "START_FAILED A", "INSTALL_FAILED A"), plugin.happens());
    }

    @Test
    void anUpgrade() {
        plugin.declare("GOOD-A", "c");
        plugin.happens();
        plugin.declare("GOOD-B", "c");

        assertEquals(
                List.of("CONFIG_INSTALL B", "CONFIG_REMOVE A", "STOPPED A", "REMOVED A", "STARTED B", "INSTALLED B"),
                plugin.happens());
    }

    @Test
    void anUpgradeThatCanNotBeFetchedLeavesTheOldRevisionRunning() {
        plugin.declare("GOOD-A", "c");
        plugin.happens();
        plugin.declare("UNFETCHABLE-B", "c");

        assertEquals(List.of("CONFIG_INSTALL B", "INSTALL_FAILED B"), plugin.happens());
        assertEquals("GOOD-A", plugin.machine.living(ID).get(0).launched.revision());
    }

    @Test
    void anUpgradeThatDoesNotStartIsUndone() {
        plugin.declare("GOOD-A", "c");
        plugin.happens();
        plugin.declare("EXITS_AT_ONCE-B", "c");

        List<String> events = plugin.happens();

        assertEquals(
                List.of(
                        "CONFIG_INSTALL B",
                        "CONFIG_REMOVE A",
                        "STOPPED A",
                        "REMOVED A",
                        "START_FAILED B",
                        "INSTALL_FAILED B",
                        "AGENT_ROLLED_BACK B",
                        "STARTED A"),
                events);
        assertEquals("GOOD-A", plugin.machine.living(ID).get(0).launched.revision());
        assertEquals(
                Condition.Status.TRUE,
                plugin.condition(Condition.Type.ROLLED_BACK).status());
        assertEquals(
                Condition.Status.FALSE,
                plugin.condition(Condition.Type.CONVERGED).status());
        assertTrue(plugin.condition(Condition.Type.ROLLED_BACK).message().contains("EXITS_AT_ONCE-B"));
    }

    @Test
    void anUpgradeInWhichTheAgentDiesWhileTheOldRevisionStops() {
        plugin.declare("GOOD-A", "c");
        plugin.happens();
        plugin.declare("GOOD-B", "c");
        plugin.agentDiesOnceItHasEnded();

        assertThrows(AgentCrash.class, plugin::happens);

        assertEquals(
                List.of("CONFIG_INSTALL B", "CONFIG_REMOVE A", "STOPPED A", "REMOVED A", "STARTED B", "INSTALLED B"),
                plugin.happens());
    }

    @Test
    void aRestartForTheConfigurationInWhichTheAgentDiesWhileItStops() {
        plugin.declare("APPLY_UNSUPPORTED-A", "c");
        plugin.happens();
        plugin.declare("APPLY_UNSUPPORTED-A", "d");
        plugin.agentDiesOnceItHasEnded();

        assertThrows(AgentCrash.class, plugin::happens);

        assertEquals(List.of("CONFIG_APPLY A", "STOPPED A", "STARTED A", "CONFIG_APPLIED A"), plugin.happens());
    }

    @Test
    void aRemoval() {
        plugin.declare("GOOD-A", "c");
        plugin.happens();
        plugin.desired.withdraw(ID);

        assertEquals(List.of("CONFIG_REMOVE A", "STOPPED A", "REMOVED A"), plugin.happens());
        assertTrue(plugin.store.histories().isEmpty());
    }

    @Test
    void aConfigurationThatIsAppliedInPlace() {
        plugin.declare("GOOD-A", "c");
        plugin.happens();
        plugin.declare("GOOD-A", "d");

        assertEquals(List.of("CONFIG_APPLY A", "CONFIG_APPLIED A"), plugin.happens());
    }

    @Test
    void aConfigurationThatNeedsARestart() {
        plugin.declare("APPLY_UNSUPPORTED-A", "c");
        plugin.happens();
        plugin.declare("APPLY_UNSUPPORTED-A", "d");

        assertEquals(List.of("CONFIG_APPLY A", "STOPPED A", "STARTED A", "CONFIG_APPLIED A"), plugin.happens());
    }

    @Test
    void aConfigurationThatIsAppliedBeforeTheProgramWasStarted() {
        plugin.declare("GOOD-A", "c");
        plugin.pass.run(ID);
        plugin.apply("GOOD-A", "d");

        assertEquals(
                List.of("CONFIG_INSTALL A", "STARTED A", "CONFIG_APPLY A", "CONFIG_APPLIED A", "INSTALLED A"),
                plugin.happens());
    }

    @Test
    void aConfigurationThatNothingRunsToTake() {
        plugin.apply("UNFETCHABLE-A", "c");

        assertEquals(
                List.of("CONFIG_INSTALL A", "INSTALL_FAILED A", "CONFIG_APPLY A", "CONFIG_APPLY_FAILED A"),
                plugin.happens());
    }

    @Test
    void aConfigurationThatItHasAlreadyWhenAnotherOneWasTakenBack() {
        plugin.declare("GOOD-A", "c");
        plugin.happens();
        plugin.apply("GOOD-A", "c");

        assertEquals(List.of("CONFIG_APPLY A", "CONFIG_APPLIED A"), plugin.happens());
        assertEquals(List.of(), plugin.happens());
    }

    @Test
    void aConfigurationThatIsAppliedInPlaceIsToldOnceToWhoAskedForIt() {
        plugin.declare("GOOD-A", "c");
        plugin.happens();
        plugin.apply("GOOD-A", "d");

        assertEquals(List.of("CONFIG_APPLY A", "CONFIG_APPLIED A"), plugin.happens());
        assertEquals(List.of(), plugin.happens());
    }

    @Test
    void anInstallationOfTheSameProgramWithAnotherConfiguration() {
        plugin.declare("GOOD-A", "c");
        plugin.happens();
        plugin.installAgain("GOOD-A", "d");

        assertEquals(List.of("CONFIG_APPLY A", "CONFIG_APPLIED A", "INSTALLED A"), plugin.happens());
    }

    @Test
    void anInstallationOfTheSameProgramWithAConfigurationThatIsRefused() {
        plugin.declare("APPLY_ERROR-A", "c");
        plugin.happens();
        plugin.installAgain("APPLY_ERROR-A", "d");

        assertEquals(List.of("CONFIG_APPLY A", "CONFIG_APPLY_FAILED A", "INSTALL_FAILED A"), plugin.happens());
    }

    @Test
    void aCrashTellsTheLastWords() {
        plugin.declare("GOOD-A", "c");
        plugin.happens();
        plugin.machine.kill(ID, 0);

        assertEquals(List.of("CRASHED A", "STARTED A"), plugin.happens());
        Event crash = plugin.first(EventType.PLUGIN_CRASHED);
        assertTrue(crash.message().endsWith("last words"), crash.message());
    }

    @Test
    void aRemovalOfWhatIsDeclaredAgainBeforeItIsGone() {
        plugin.declare("GOOD-A", "c");
        plugin.happens();
        plugin.desired.withdraw(ID);
        plugin.pass.run(ID);
        plugin.declare("GOOD-A", "c");

        assertEquals(
                List.of(
                        "CONFIG_REMOVE A",
                        "STOPPED A",
                        "REMOVE_FAILED A",
                        "CONFIG_INSTALL A",
                        "STARTED A",
                        "INSTALLED A"),
                plugin.happens());
    }

    @Test
    void aRemovalOfWhatIsDeclaredWithAnotherRevisionBeforeItIsGone() {
        plugin.declare("GOOD-A", "c");
        plugin.happens();
        plugin.desired.withdraw(ID);
        plugin.pass.run(ID);
        plugin.declare("GOOD-B", "c");

        assertEquals(
                List.of(
                        "CONFIG_REMOVE A",
                        "STOPPED A",
                        "REMOVE_FAILED A",
                        "CONFIG_INSTALL B",
                        "CONFIG_REMOVE A",
                        "STOPPED A",
                        "REMOVED A",
                        "STARTED B",
                        "INSTALLED B"),
                plugin.happens());
    }

    @Test
    void whatIsStoppedToBeReplacedSaysWhy() {
        plugin.declare("GOOD-A", "c");
        plugin.happens();
        plugin.declare("GOOD-A", "c", "-v");

        assertEquals(List.of("CONFIG_INSTALL A", "STOPPED A", "STARTED A", "INSTALLED A"), plugin.happens());
        Event stop = plugin.first(EventType.PLUGIN_STOPPED);
        assertTrue(stop.message().startsWith("arguments changed; "), stop.message());
    }

    @Test
    void nothingHappensToWhatIsAsItShouldBe() {
        plugin.declare("GOOD-A", "c");
        plugin.happens();

        assertEquals(List.of(), plugin.happens());
        assertFalse(plugin.condition(Condition.Type.CONVERGED).status() != Condition.Status.TRUE);
    }

    @Test
    void anInstallationThatCanNotBeLaunched() {
        plugin.declare("UNLAUNCHABLE-A", "c");

        assertEquals(List.of("CONFIG_INSTALL A", "START_FAILED A", "INSTALL_FAILED A"), plugin.happens());
    }

    @Test
    void anInstallationThatEndsBeforeItListens() {
        plugin.declare("EXITS_AT_ONCE-A", "c");

        assertEquals(List.of("CONFIG_INSTALL A", "START_FAILED A", "INSTALL_FAILED A"), plugin.happens());
    }

    @Test
    void anInstallationThatNeverListens() {
        plugin.declare("NEVER_LISTENS-A", "c");

        assertEquals(List.of("CONFIG_INSTALL A", "START_FAILED A", "INSTALL_FAILED A"), plugin.happens());
    }

    @Test
    void aConfigurationThatIsRefused() {
        plugin.declare("APPLY_ERROR-A", "c");
        plugin.happens();
        plugin.declare("APPLY_ERROR-A", "d");

        assertEquals(List.of("CONFIG_APPLY A", "CONFIG_APPLY_FAILED A"), plugin.happens());
    }

    @Test
    void aConfigurationThatIsRefusedAndThenTakenAtAStart() {
        plugin.declare("APPLY_ERROR-A", "c");
        plugin.happens();
        plugin.declare("APPLY_ERROR-A", "d");
        plugin.happens();
        plugin.machine.kill(ID, 0);

        assertEquals(List.of("CRASHED A", "STARTED A", "CONFIG_APPLIED A"), plugin.happens());
        assertEquals(List.of(), plugin.happens());
    }

    @Test
    void aRemovalOfWhatNeverRanNamesItsRevision() {
        plugin.declare("START_ERROR-A", "c");
        plugin.happens();
        plugin.desired.withdraw(ID);

        assertEquals(List.of("CONFIG_REMOVE A", "REMOVED A"), plugin.happens());
    }

    @Test
    void aRemovalOfWhatCouldNotBeFetchedNamesItsRevision() {
        plugin.declare("UNFETCHABLE-A", "c");
        plugin.happens();
        plugin.desired.withdraw(ID);

        assertEquals(List.of("CONFIG_REMOVE A", "REMOVED A"), plugin.happens());
    }
}
