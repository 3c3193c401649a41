package io.homeostat.reconcile.agent;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.homeostat.desired.model.WorkloadId;
import io.homeostat.reconcile.plan.Step;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class HeapReleaseTest {
    private static final long LIVE = 10 << 20;

    private long now;
    private long used = LIVE;
    private int collections;
    private final HeapRelease heap = new HeapRelease(
            () -> used,
            () -> {
                collections++;
                used = LIVE;
            },
            () -> now);

    @AfterEach
    void tearDown() {
        heap.close();
    }

    private void step() {
        WorkloadId id = WorkloadId.process("p");
        heap.starting(new Step.Wait(id, Instant.EPOCH, Step.Wait.Kind.PROGRESS, "any step will do"));
    }

    private void pass(Duration time) {
        now += time.toNanos();
    }

    @Test
    void itIsCollectedOnceWorkIsOver() {
        step();
        pass(Duration.ofSeconds(3));
        step();
        pass(Duration.ofSeconds(4));
        assertEquals(Optional.of(Duration.ofSeconds(1)), heap.collectWhenDue());
        assertEquals(0, collections);
        pass(Duration.ofSeconds(1));
        assertEquals(Optional.empty(), heap.collectWhenDue());
        assertEquals(1, collections);
    }

    @Test
    void whatIsNotWorthItIsNotCollected() {
        pass(HeapRelease.QUIET);
        heap.collectWhenDue();
        pass(HeapRelease.APART);
        used = LIVE + HeapRelease.WORTH_IT - 1;
        assertEquals(Optional.empty(), heap.collectWhenDue());
        assertEquals(1, collections);
        used++;
        heap.collectWhenDue();
        assertEquals(2, collections);
    }

    @Test
    void aWorkloadThatIsRestartedAllTheTimeHasItCollectedOnceAMinute() {
        for (int second = 0; second < 600; second += 10) {
            used += HeapRelease.WORTH_IT;
            step();
            pass(HeapRelease.QUIET);
            heap.collectWhenDue();
            pass(HeapRelease.QUIET);
        }
        assertEquals(10, collections);
    }
}
