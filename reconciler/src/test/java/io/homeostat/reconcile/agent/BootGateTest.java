package io.homeostat.reconcile.agent;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.reconcile.loop.PassResult;
import io.homeostat.reconcile.plan.Action;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.plan.WorkloadPlan;
import io.homeostat.reconcile.record.Outcome;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class BootGateTest {
    private static final WorkloadId A = WorkloadId.process("a");
    private static final WorkloadId B = WorkloadId.plugin("b");
    private static final WorkloadId OTHER = WorkloadId.process("other");

    private final AtomicInteger opened = new AtomicInteger();
    private final BootGate gate = new BootGate();

    @Test
    void withNothingToWaitForItOpensAtOnceAndOnlyOnce() {
        gate.await(List.of(), opened::incrementAndGet);
        assertEquals(1, opened.get());

        gate.finished(A, settled(A));
        gate.open();

        assertEquals(1, opened.get());
    }

    @Test
    void itOpensWhenTheLastIsUp() {
        gate.await(List.of(A, B), opened::incrementAndGet);

        gate.finished(OTHER, settled(OTHER));
        gate.finished(A, settled(A));
        gate.finished(A, settled(A));
        assertEquals(0, opened.get());

        gate.finished(B, settled(B));
        assertEquals(1, opened.get());
    }

    @Test
    void whatIsUnderWayIsWaitedForAndWhatHasFailedIsNot() {
        gate.await(List.of(A, B), opened::incrementAndGet);

        gate.finished(A, new PassResult.Again(plan(A), wait(A, Step.Wait.Kind.PROGRESS), Outcome.done()));
        gate.finished(A, later(A, Step.Wait.Kind.PROGRESS));
        gate.finished(B, later(B, Step.Wait.Kind.RETRY));
        assertEquals(0, opened.get());

        gate.finished(A, later(A, Step.Wait.Kind.DECLARATION));
        assertEquals(1, opened.get());
    }

    @Test
    void aPassThatBreaksOffHoldsUpNoBoot() {
        gate.await(List.of(A), opened::incrementAndGet);

        gate.broken(A, new IllegalStateException("bug"));

        assertEquals(1, opened.get());
    }

    @Test
    void itWaitsNoLongerThanItIsTold() {
        gate.await(List.of(A), opened::incrementAndGet);

        gate.open();
        gate.finished(A, settled(A));

        assertEquals(1, opened.get());
    }

    private static PassResult settled(WorkloadId id) {
        return new PassResult.Settled(plan(id));
    }

    private static PassResult later(WorkloadId id, Step.Wait.Kind kind) {
        return new PassResult.Later(plan(id), wait(id, kind));
    }

    private static Step.Wait wait(WorkloadId id, Step.Wait.Kind kind) {
        return new Step.Wait(id, Instant.MAX, kind, "why");
    }

    private static WorkloadPlan plan(WorkloadId id) {
        return new WorkloadPlan(id, Action.NONE, Reason.AT_DESIRED_STATE, "", ImmutableList.of(), null, null);
    }
}
