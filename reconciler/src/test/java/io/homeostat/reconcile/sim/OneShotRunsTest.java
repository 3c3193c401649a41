package io.homeostat.reconcile.sim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.history.Condition;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.desired.state.history.OneShotRun;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;

/** How runs of one-shots end, and what is told of it. */
class OneShotRunsTest extends OneShotScene {
    @Test
    void aProcessIsInstalledAndRunsToItsEnd() {
        declare(PROCESS, "FINISHES-A", STARTUP);

        assertEquals(
                List.of("CONFIG_INSTALL A", "STARTED A", "INSTALLED A", "EXECUTION_COMPLETED A"), happens(PROCESS));
        OneShotRun run = lastRun(PROCESS);
        assertEquals(OneShotRun.Result.COMPLETED, run.result());
        assertEquals(0, Objects.requireNonNull(run.exit()).code());
        assertEquals(5, Objects.requireNonNull(run.duration()).toSeconds());
        assertEquals(Condition.Status.TRUE, condition(PROCESS, Condition.Type.HEALTHY));
        assertEquals(Condition.Status.TRUE, condition(PROCESS, Condition.Type.CONVERGED));
        assertEquals(List.of(), happens(PROCESS));
    }

    @Test
    void aPluginIsStartedAndStoppedWhenItSaysThatItIsDone() {
        declare(PLUGIN, "FINISHES-A", STARTUP);

        assertEquals(List.of("CONFIG_INSTALL A", "STARTED A", "INSTALLED A", "EXECUTION_COMPLETED A"), happens(PLUGIN));
        assertEquals(List.of(), machine.living(PLUGIN));
        assertEquals(OneShotRun.Result.COMPLETED, lastRun(PLUGIN).result());
    }

    @Test
    void aRunThatFailsIsToldWithTheLastWordsAndNotRepeatedInThisBoot() {
        declare(PROCESS, "FAILS-A", STARTUP);

        assertEquals(List.of("CONFIG_INSTALL A", "STARTED A", "INSTALLED A", "EXECUTION_FAILED A"), happens(PROCESS));
        String error = lastRun(PROCESS).error();
        assertTrue(error.endsWith(" last words"), error);
        assertTrue(lastMessage().matches(".* 3, after 5s[0-9]*m?s?\nlast words"), this::lastMessage);
        assertEquals(Condition.Status.FALSE, condition(PROCESS, Condition.Type.HEALTHY));
        assertEquals(List.of(), happens(PROCESS));
    }

    @Test
    void aPluginThatEndsBadlyHasFailed() {
        declare(PLUGIN, "FAILS-A", STARTUP);

        assertEquals(List.of("CONFIG_INSTALL A", "STARTED A", "INSTALLED A", "EXECUTION_FAILED A"), happens(PLUGIN));
    }

    @Test
    void aRunThatTakesTooLongIsStoppedAndHasFailed() {
        for (WorkloadId id : List.of(PROCESS, PLUGIN)) {
            declare(id, "ENDLESS-A", STARTUP);

            assertEquals(List.of("CONFIG_INSTALL A", "STARTED A", "INSTALLED A", "EXECUTION_FAILED A"), happens(id));
            assertEquals(List.of(), machine.living(id));
            assertEquals(
                    Exit.Reason.TIMED_OUT,
                    Objects.requireNonNull(lastRun(id).exit()).reason());
            assertEquals("not done within 1m", lastRun(id).error());
        }
    }

    @Test
    void aPluginThatDoesNotStartIsTriedAsOftenAsDeclaredAndThenHasFailed() {
        declare(PLUGIN, "START_ERROR-A", STARTUP);

        assertEquals(List.of("CONFIG_INSTALL A", "START_FAILED A", "INSTALL_FAILED A"), happens(PLUGIN));
        assertEquals(List.of(), happens(PLUGIN));
        assertEquals(List.of(), machine.living(PLUGIN));
    }

    @Test
    void whatCanNotBeLaunchedHasFailedAtOnce() {
        declare(PROCESS, "UNLAUNCHABLE-A", STARTUP);

        assertEquals(List.of("CONFIG_INSTALL A", "START_FAILED A", "INSTALL_FAILED A"), happens(PROCESS));
    }

    @Test
    void aRunThatEndedWhileTheAgentWasAwayIsKnownHowItEnded() {
        declare(PROCESS, "FAILS-A", STARTUP);
        runUntilLaunched(PROCESS);
        clock.advance(Duration.ofSeconds(5));
        machine.processes.settle();
        clock.advance(Duration.ofHours(5));

        assertEquals(List.of("CONFIG_INSTALL A", "STARTED A", "INSTALLED A", "EXECUTION_FAILED A"), happens(PROCESS));
        assertEquals(3, Objects.requireNonNull(lastRun(PROCESS).exit()).code());
        assertEquals(5, Objects.requireNonNull(lastRun(PROCESS).duration()).toSeconds());
    }

    @Test
    void whatARunLeavesBehindIsStoppedBeforeItsEndIsTold() {
        declare(PROCESS, "ENDLESS-A", STARTUP);
        runUntilLaunched(PROCESS);
        pass.run(PROCESS);
        machine.kill(PROCESS, 2);

        assertEquals("EXECUTION_FAILED A", happens(PROCESS).getLast());
        assertEquals(List.of(), machine.processes.present(PROCESS));
    }

    @Test
    void aRemovalStopsARunUnderWay() {
        declare(PROCESS, "ENDLESS-A", STARTUP);
        runUntilLaunched(PROCESS);
        pass.run(PROCESS);
        told = store.events(0, 1000).size();
        desired.withdraw(PROCESS);

        assertEquals(List.of("CONFIG_REMOVE A", "STOPPED A", "REMOVED A"), happens(PROCESS));
        assertTrue(store.histories().isEmpty());
    }
}
