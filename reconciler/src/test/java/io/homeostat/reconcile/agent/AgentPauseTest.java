package io.homeostat.reconcile.agent;

import static io.homeostat.reconcile.agent.AgentBench.kill;
import static io.homeostat.reconcile.agent.AgentBench.sleeper;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.EventType;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.desired.state.history.Condition;
import java.time.Instant;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A running agent leaves alone what is paused, sees all the same what becomes of it, and takes it up again when it is resumed. */
@Timeout(180)
class AgentPauseTest {
    private static final WorkloadId A = WorkloadId.process("a");
    private static final WorkloadId B = WorkloadId.process("b");
    private static final Instant NOON = Instant.parse("2026-11-20T12:00:00Z");

    private final AgentBench bench = new AgentBench();

    @AfterEach
    void close() throws Exception {
        bench.store().resume(A, "", NOON);
        bench.close();
    }

    @Test
    void whatIsPausedStaysDeadAndIsBackOnceItIsResumed() {
        bench.write("a.yaml", sleeper("a", 1000));
        // With a resync after an hour only hints can do it in time.
        Agent agent = bench.start("1h", true);
        ProcessIdentity first = bench.running(A);
        agent.updates().remember(ImmutableList.of(A), store -> store.pause(A, "by hand", NOON));
        await().atMost(AgentBench.PATIENCE).until(() -> status(Condition.Type.PAUSED) == Condition.Status.TRUE);

        kill(first);
        bench.awaitNone(A);
        assertEquals(1, crashes());
        bench.write("b.yaml", sleeper("b", 1000));
        bench.running(B);
        assertTrue(bench.store().instances(A).isEmpty());

        agent.updates().remember(ImmutableList.of(A), store -> store.resume(A, "", NOON));

        bench.runningAfter(A, first);
        await().atMost(AgentBench.PATIENCE).until(() -> status(Condition.Type.PAUSED) == Condition.Status.FALSE);
    }

    @Test
    void whatIsPausedAndWithdrawnGoesOnRunningUnderTheNextAgentToo() {
        bench.write("a.yaml", sleeper("a", 1000));
        bench.write("b.yaml", sleeper("b", 1000));
        Agent agent = bench.start("1s", true);
        ProcessIdentity a = bench.running(A);
        bench.running(B);
        agent.updates().remember(ImmutableList.of(A), store -> store.pause(A, "by hand", NOON));
        bench.delete("a.yaml");
        bench.delete("b.yaml");

        bench.awaitNone(B);
        bench.stop();
        Agent next = bench.start("1s", true);
        bench.write("b.yaml", sleeper("b", 1001));
        bench.running(B);
        assertEquals(a, bench.running(A));

        next.updates().remember(ImmutableList.of(A), store -> store.resume(A, "", NOON));
        bench.awaitNone(A);
    }

    @Test
    void whatIsToBeStoppedIsAndStaysSoUnderTheNextAgentToo() {
        bench.write("a.yaml", sleeper("a", 1000));
        bench.write("b.yaml", sleeper("b", 1000));
        Agent agent = bench.start("1s", true);
        ProcessIdentity first = bench.running(A);
        bench.running(B);

        agent.updates().remember(ImmutableList.of(A), store -> store.stop(A, "by hand", NOON));
        bench.awaitNone(A);
        bench.stop();
        Agent next = bench.start("1s", true);
        bench.write("b.yaml", sleeper("b", 1001));
        bench.running(B);
        assertTrue(bench.store().instances(A).isEmpty());
        assertEquals(0, crashes());

        next.updates().remember(ImmutableList.of(A), store -> store.resume(A, "", NOON));
        bench.runningAfter(A, first);
    }

    private Condition.Status status(Condition.Type type) {
        return bench.store().history(A).conditions().stream()
                .filter(condition -> condition.type() == type)
                .map(Condition::status)
                .findFirst()
                .orElse(Condition.Status.UNKNOWN);
    }

    private long crashes() {
        return bench.store().events(0, 1000).stream()
                .filter(event -> event.event().type() == EventType.PLUGIN_CRASHED)
                .count();
    }
}
