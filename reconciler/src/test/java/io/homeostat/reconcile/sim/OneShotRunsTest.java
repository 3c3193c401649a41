package io.homeostat.reconcile.sim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.Limits;
import io.homeostat.desired.model.Size;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.Triggers;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.store.Condition;
import io.homeostat.desired.store.Exit;
import io.homeostat.desired.store.OneShotRun;
import io.homeostat.desired.store.StoredEvent;
import io.homeostat.reconcile.loop.Next;
import io.homeostat.reconcile.loop.PassListener;
import io.homeostat.reconcile.loop.WorkloadPass;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.sim.Declarations.Wish;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;

/** What becomes of one-shots over time, on a fake machine without faults. A run may take a minute. */
class OneShotRunsTest {
    private static final WorkloadId PROCESS = WorkloadId.process("p");
    private static final WorkloadId PLUGIN = WorkloadId.plugin("p");
    private static final Triggers STARTUP = new Triggers(true, false, null);
    private static final Triggers FIRST_BOOT = new Triggers(false, true, null);
    private static final Triggers HOURLY = new Triggers(false, false, Duration.ofHours(1));
    private static final List<String> A_GOOD_RUN = List.of("STARTED A", "EXECUTION_COMPLETED A");

    private final VirtualClock clock = new VirtualClock();
    private final Declarations desired = new Declarations();
    private final FakeMachine machine = new FakeMachine(Dice.kind(List.of(PROCESS, PLUGIN)), clock, desired, 1);
    private final FakeStore store = machine.store;
    private final WorkloadPass pass = new WorkloadPass(
            machine.asked, machine.observer, machine.executor, store, clock, id -> "last words", new Silence());
    private long told;

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
        assertEquals("process exited with status 3", lastRun(PROCESS).error());
        assertEquals("process exited with status 3\nlast words", lastMessage());
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

        for (Duration jump : List.of(Duration.ofDays(1000), Duration.ofDays(-1500), Duration.ofMinutes(-10))) {
            clock.set(jump);
            assertEquals(A_GOOD_RUN, happens(PROCESS), jump::toString);
            assertEquals(List.of(), happens(PROCESS), jump::toString);
        }
    }

    @Test
    void theNextPassIsDueWhenTheIntervalIsOver() {
        declare(PROCESS, "FINISHES-A", HOURLY);
        happens(PROCESS);

        Next next = pass.run(PROCESS);

        assertTrue(next instanceof Next.Settled, next::toString);
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

    @Test
    void whatIsAskedForByHandRunsAgainWhenItFailed() {
        declare(PROCESS, "FAILS-A", STARTUP);
        happens(PROCESS);

        store.retryNow(ImmutableList.of(PROCESS));

        assertEquals(List.of("STARTED A", "EXECUTION_FAILED A"), happens(PROCESS));
    }

    @Test
    void whatIsAskedForByHandDoesNotRunAgainWhenItWasDone() {
        declare(PROCESS, "FINISHES-A", STARTUP);
        happens(PROCESS);

        store.retryNow(ImmutableList.of(PROCESS));

        assertEquals(List.of(), happens(PROCESS));
    }

    private void declare(WorkloadId id, String revision, Triggers triggers) {
        desired.declare(
                SourceName.APPLIED,
                id,
                Wish.of(revision, ImmutableList.of(), "c").when(triggers));
    }

    private OneShotRun lastRun(WorkloadId id) {
        return Objects.requireNonNull(store.history(id).run().oneShot());
    }

    private Condition.Status condition(WorkloadId id, Condition.Type type) {
        return store.history(id).conditions().stream()
                .filter(condition -> condition.type() == type)
                .findFirst()
                .orElseThrow()
                .status();
    }

    private String lastMessage() {
        return store.events(0, 1000).getLast().event().message();
    }

    private void runUntilLaunched(WorkloadId id) {
        while (machine.living(id).isEmpty()) {
            pass.run(id);
        }
    }

    private void runUntilStarted(WorkloadId id) {
        while (store.history(id).run().oneShot() == null) {
            pass.run(id);
        }
    }

    /** Runs passes until nothing is to be done, or something has failed for now; what was told meanwhile. */
    private List<String> happens(WorkloadId id) {
        boolean goesOn = true;
        while (goesOn) {
            goesOn = switch (pass.run(id)) {
                case Next.Again again -> true;
                case Next.Settled settled -> false;
                case Next.Later later -> {
                    boolean progress = later.until().kind() == Step.Wait.Kind.PROGRESS;
                    if (progress) {
                        clock.advance(
                                Duration.between(clock.instant(), later.until().until()));
                    }
                    yield progress;
                }
            };
        }
        List<String> fresh = new ArrayList<>();
        for (StoredEvent stored : store.events(told, 1000)) {
            told = stored.id();
            String revision = stored.event().revision();
            fresh.add(stored.event().type().name().replace("PLUGIN_", "") + " "
                    + revision.substring(revision.indexOf('-') + 1));
        }
        return fresh;
    }

    private static final class Silence implements PassListener {
        @Override
        public void starting(Step step) {
            // The store tells.
        }

        @Override
        public void finished(WorkloadId id, Next next) {
            // The store tells.
        }

        @Override
        public void broken(WorkloadId id, Throwable problem) {
            throw new AssertionError(problem);
        }
    }
}
