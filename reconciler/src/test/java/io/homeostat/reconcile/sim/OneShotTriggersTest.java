package io.homeostat.reconcile.sim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.Lifecycle.Limits;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.schema.Size;
import io.homeostat.reconcile.loop.PassResult;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Test;

/** When one-shots run, over time: boots, clocks, other declarations. */
class OneShotTriggersTest extends OneShotScene {
    @Test
    void startupRunsOnceABoot() {
        declare(PROCESS, "FINISHES-A", STARTUP);
        happens(PROCESS);
        clock.advance(Duration.ofDays(40));
        assertEquals(List.of(), happens(PROCESS));

        machine.processes.reboot();

        assertEquals(A_GOOD_RUN, happens(PROCESS));
        assertEquals(List.of(), happens(PROCESS));
    }

    @Test
    void firstBootDoesNotRunInLaterBoots() {
        declare(PROCESS, "FINISHES-A", FIRST_BOOT);
        happens(PROCESS);

        machine.processes.reboot();

        assertEquals(List.of(), happens(PROCESS));
    }

    @Test
    void anIntervalCountsFromTheStartOfTheLastRunAndMissedOnesAreNotMadeUpFor() {
        declare(PROCESS, "FINISHES-A", HOURLY);
        happens(PROCESS);
        Instant first = lastRun(PROCESS).startedAt();
        clock.advance(Duration.ofMinutes(54));
        assertEquals(List.of(), happens(PROCESS));
        clock.advance(Duration.between(clock.instant(), first.plus(Duration.ofHours(1))));
        assertEquals(A_GOOD_RUN, happens(PROCESS));

        clock.advance(Duration.ofDays(3));

        assertEquals(A_GOOD_RUN, happens(PROCESS));
        assertEquals(List.of(), happens(PROCESS));
    }

    @Test
    void howeverTheClockIsSetItRunsOnce() {
        declare(PROCESS, "FINISHES-A", HOURLY);
        happens(PROCESS);

        for (Duration jump : List.of(Duration.ofDays(1000), Duration.ofDays(-1500), Duration.ofHours(-2))) {
            clock.set(jump);
            assertEquals(A_GOOD_RUN, happens(PROCESS), jump::toString);
            assertEquals(List.of(), happens(PROCESS), jump::toString);
        }
    }

    @Test
    void aClockThatIsSetBackByLessThanAnIntervalRunsNothingBeforeThatIsOver() {
        declare(PROCESS, "FINISHES-A", HOURLY);
        happens(PROCESS);
        Instant first = lastRun(PROCESS).startedAt();

        clock.set(Duration.ofMinutes(-50));
        assertEquals(List.of(), happens(PROCESS));
        assertEquals(first.plus(Duration.ofHours(1)), pass.run(PROCESS).plan().due());

        clock.advance(Duration.between(clock.instant(), first.plus(Duration.ofHours(1))));
        assertEquals(A_GOOD_RUN, happens(PROCESS));
    }

    @Test
    void theNextPassIsDueWhenTheIntervalIsOver() {
        declare(PROCESS, "FINISHES-A", HOURLY);
        happens(PROCESS);

        PassResult next = pass.run(PROCESS);

        assertTrue(next instanceof PassResult.Settled, next::toString);
        assertEquals(
                lastRun(PROCESS).startedAt().plus(Duration.ofHours(1)),
                next.plan().due());
    }

    @Test
    void anotherRevisionRunsWhenTheOneUnderWayHasEnded() {
        declare(PROCESS, "FINISHES-A", STARTUP);
        runUntilLaunched(PROCESS);
        declare(PROCESS, "FINISHES-B", STARTUP);

        assertEquals(
                List.of(
                        "CONFIG_INSTALL B",
                        "EXECUTION_COMPLETED A",
                        "STARTED B",
                        "INSTALLED B",
                        "EXECUTION_COMPLETED B"),
                happens(PROCESS).stream()
                        .filter(event ->
                                !List.of("CONFIG_INSTALL A", "STARTED A").contains(event))
                        .toList());
        assertEquals(1, machine.disk.installs(PROCESS).size());
    }

    @Test
    void otherArgumentsAreOtherWorkAndLimitsAreNot() {
        Wish wish = Wish.of("FINISHES-A", ImmutableList.of(), "c").when(STARTUP);
        desired.declare(SourceName.APPLIED, PROCESS, wish);
        happens(PROCESS);

        desired.declare(SourceName.APPLIED, PROCESS, wish.limited(new Limits(new Size(64 << 20), null, false)));
        assertEquals(List.of(), happens(PROCESS));
        desired.declare(
                SourceName.APPLIED,
                PROCESS,
                Wish.of("FINISHES-A", ImmutableList.of("-v"), "c").when(STARTUP));

        assertEquals(
                List.of("CONFIG_INSTALL A", "STARTED A", "INSTALLED A", "EXECUTION_COMPLETED A"), happens(PROCESS));
    }

    @Test
    void aRunThatARebootCutsShortHasFailedAndItsTriggersDecideAnew() {
        declare(PROCESS, "FINISHES-A", STARTUP);
        declare(PLUGIN, "FINISHES-A", FIRST_BOOT);
        runUntilLaunched(PROCESS);
        runUntilLaunched(PLUGIN);
        pass.run(PROCESS);
        clock.advance(Duration.ofSeconds(1));
        runUntilStarted(PLUGIN);
        told = store.events(0, 1000).size();

        machine.processes.reboot();

        assertEquals(List.of("EXECUTION_FAILED A", "STARTED A", "EXECUTION_COMPLETED A"), happens(PROCESS));
        assertEquals(List.of("EXECUTION_FAILED A"), happens(PLUGIN));
    }

    @Test
    void whatIsAskedForByHandRunsAgainWhenItFailed() {
        declare(PROCESS, "FAILS-A", STARTUP);
        happens(PROCESS);

        machine.runs.excuse(PROCESS);
        store.retryNow(ImmutableList.of(PROCESS));

        assertEquals(List.of("STARTED A", "EXECUTION_FAILED A"), happens(PROCESS));
    }

    @Test
    void whatIsAskedForByHandDoesNotRunAgainWhenItWasDone() {
        declare(PROCESS, "FINISHES-A", STARTUP);
        happens(PROCESS);

        machine.runs.excuse(PROCESS);
        store.retryNow(ImmutableList.of(PROCESS));

        assertEquals(List.of(), happens(PROCESS));
    }
}
