package io.homeostat.reconcile.agent;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.Source;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.reconcile.loop.PassId;
import io.homeostat.reconcile.loop.PassId.Trigger;
import io.homeostat.reconcile.plan.Step;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

final class MovesAheadTest {
    private static final WorkloadId ID = WorkloadId.process("p");

    private final AtomicInteger begun = new AtomicInteger();
    private final MovesAhead ahead = new MovesAhead(begun::incrementAndGet);

    @Test
    void aPassThatMayLeadToALaunchBeginsAGracePeriod() {
        ahead.begun(new PassId(ID, 1, Trigger.RESYNC));
        assertEquals(0, begun.get());

        ahead.begun(new PassId(ID, 2, Trigger.EXIT));
        assertEquals(1, begun.get());
    }

    @Test
    void whatItsDriverMovesDoesNot() {
        WorkloadId task = new WorkloadId(Kind.TASK, "t");
        ahead.begun(new PassId(task, 1, Trigger.EXIT));
        ahead.starting(new Step.Activate(task, "t_1"));
        assertEquals(0, begun.get());
    }

    @Test
    void afterADownloadAnotherOneBeginsBeforeTheLaunch() {
        Source source = new Source("https://example.org/p.tar.gz", null, Duration.ofSeconds(1), 1);
        ahead.starting(new Step.Download(ID, "a".repeat(64), source));
        assertEquals(0, begun.get());

        ahead.starting(new Step.Activate(ID, "p_1"));
        assertEquals(1, begun.get());
    }
}
