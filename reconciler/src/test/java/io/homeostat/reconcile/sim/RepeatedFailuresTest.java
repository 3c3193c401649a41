package io.homeostat.reconcile.sim;

import static io.homeostat.reconcile.sim.ToldEvents.ID;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.state.StateStore.Change;
import io.homeostat.desired.state.history.Attempts.Failures;
import io.homeostat.desired.state.history.WorkloadHistory;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What keeps failing is told once per cause: a control plane of many machines would drown in the rest. */
class RepeatedFailuresTest {
    private static final int DAYS_OF_TRIES = 100;

    private final ToldEvents plugin = new ToldEvents();

    @Test
    void anInstallationThatCanNotBeFetchedForDays() {
        plugin.declare("UNFETCHABLE-A", "c");

        assertEquals(List.of("CONFIG_INSTALL A", "INSTALL_FAILED A"), plugin.happens(DAYS_OF_TRIES));
    }

    @Test
    void aPluginThatDoesNotStartForDays() {
        plugin.declare("START_ERROR-A", "c");

        assertEquals(List.of("CONFIG_INSTALL A", "START_FAILED A", "INSTALL_FAILED A"), plugin.happens(DAYS_OF_TRIES));
    }

    @ParameterizedTest
    @ValueSource(strings = {"NEVER_LISTENS", "EXITS_AT_ONCE", "UNLAUNCHABLE"})
    void aPluginThatDoesNotComeUpForDays(String behaviour) {
        plugin.declare(behaviour + "-A", "c");

        assertEquals(List.of("CONFIG_INSTALL A", "START_FAILED A", "INSTALL_FAILED A"), plugin.happens(DAYS_OF_TRIES));
    }

    @Test
    void aFailureIsToldOnceAlthoughItIsWordedAnewEachTime() {
        plugin.declare("UNFETCHABLE-A", "c");
        plugin.happens();
        String first = plugin.store.history(ID).attempts().install().error();

        assertEquals(List.of(), plugin.happens(DAYS_OF_TRIES));

        assertNotEquals(first, plugin.store.history(ID).attempts().install().error());
    }

    @Test
    void aConfigurationThatIsRefusedForDays() {
        plugin.declare("APPLY_ERROR-A", "c");
        plugin.happens();
        plugin.declare("APPLY_ERROR-A", "d");

        assertEquals(List.of("CONFIG_APPLY A", "CONFIG_APPLY_FAILED A"), plugin.happens(DAYS_OF_TRIES));
    }

    @Test
    void anotherDeclarationThatFailsInTheSameWayIsToldAgain() {
        plugin.declare("START_ERROR-A", "c");
        plugin.happens();
        plugin.declare("START_ERROR-A", "d");

        assertEquals(List.of("CONFIG_INSTALL A", "START_FAILED A", "INSTALL_FAILED A"), plugin.happens());
    }

    @Test
    void whoeverAsksForAnotherTryHearsOfItsFailure() {
        plugin.declare("START_ERROR-A", "c");
        plugin.happens();
        plugin.pass.amend(ImmutableList.of(ID), () -> plugin.store.retryNow(ImmutableList.of(ID)));

        assertEquals(List.of("START_FAILED A", "INSTALL_FAILED A"), plugin.happens());
    }

    @Test
    void eachCrashOfAPluginThatCameUpAgainIsTold() {
        plugin.declare("GOOD-A", "c");
        plugin.happens();
        plugin.machine.kill(ID, 0);
        assertEquals(List.of("CRASHED A", "STARTED A"), plugin.happens());
        plugin.machine.kill(ID, 0);

        assertEquals(List.of("CRASHED A", "STARTED A"), plugin.happens(1));
    }

    @Test
    void whatSomebodyElseHasPutRightHoldsUpNoLaterStep() {
        plugin.declare("GOOD-A", "c");
        plugin.happens();
        WorkloadHistory history = plugin.store.history(ID);
        Failures failed = Failures.NONE.failed(Instant.EPOCH, "no luck", false);
        plugin.store.commit(new Change(
                ID,
                history.withAttempts(history.attempts().withUpkeep(failed)).withConditions(ImmutableList.of()),
                false,
                ImmutableList.of(),
                ImmutableList.of(),
                ImmutableList.of()));

        plugin.happens();

        assertEquals(Failures.NONE, plugin.store.history(ID).attempts().upkeep());
    }
}
