package io.homeostat.reconcile.agent.telemetry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.desired.state.StoreException;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.reconcile.plan.Step;
import java.time.Duration;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class LoopWatchTest {
    private final Passes passes = new Passes();
    private final LoopWatch watch = new LoopWatch(passes);

    private void assertStuck(String words) {
        assertTrue(watch.problem().orElse("").contains(words), () -> "said: " + watch.problem());
    }

    @Test
    void aLoopThatGoesRoundIsWell() {
        passes.pass(LoopWatch.LONGEST_SILENCE);
        assertEquals(Optional.empty(), watch.problem());
        watch.beat();
        passes.pass(LoopWatch.LONGEST_SILENCE);
        assertEquals(Optional.empty(), watch.problem());
    }

    @Test
    void aLoopWhoseHeartbeatStaysAwayIsStuckUntilItComesAgain() {
        passes.pass(LoopWatch.LONGEST_SILENCE.plusSeconds(1));
        assertStuck("no pass for 31 s");
        watch.beat();
        assertEquals(Optional.empty(), watch.problem());
    }

    @Test
    void aLoopGoesRoundAlthoughItsStoreFails() {
        watch.storeTried(new StoreException("disk full"));
        assertTrue(watch.goesRound());
        passes.pass(LoopWatch.LONGEST_SILENCE.plusSeconds(1));
        assertFalse(watch.goesRound());
        watch.beat();
        assertTrue(watch.goesRound());
    }

    @Test
    void aPassThatOnlyLooksIsStuckInTheEnd() {
        passes.begun(watch);
        passes.pass(LoopWatch.LONGEST_LOOK.plusSeconds(1));
        watch.beat();
        assertStuck("plugin/ops-agent has not got beyond looking for 181 s");
        passes.settled(watch);
        assertEquals(Optional.empty(), watch.problem());
    }

    @Test
    void aStepMayTakeAsLongAsItTakes() {
        passes.begun(watch);
        watch.starting(new Step.Activate(Passes.WORKLOAD, "d"));
        passes.pass(Duration.ofHours(5));
        watch.beat();
        assertEquals(Optional.empty(), watch.problem());
    }

    @Test
    void aStoreThatFailsIsTheAgentsProblemUntilAPassGetsThrough() {
        watch.broken(Passes.WORKLOAD, new StoreException("cannot write: disk full"));
        assertStuck("the store fails: cannot write: disk full");
        passes.waits(watch, Step.Wait.Kind.RETRY, Reason.STEP_FAILED, "later");
        assertEquals(Optional.empty(), watch.problem());
    }

    @Test
    void aStoreThatCannotBeWrittenIsToldThoughNoPassWrites() {
        watch.storeTried(new StoreException("cannot write to homeostat.db: No space left on device"));
        passes.settled(watch);
        assertStuck("cannot write to homeostat.db: No space left");
        watch.storeTried(null);
        assertEquals(Optional.empty(), watch.problem());
    }

    @Test
    void anotherBugOfOneWorkloadIsNotALoopThatIsStuck() {
        watch.broken(Passes.WORKLOAD, new IllegalStateException("a bug"));
        assertEquals(Optional.empty(), watch.problem());
    }
}
