package io.homeostat.reconcile.sim;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.Lifecycle.MaxDisruption;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.reconcile.loop.WorkloadPass;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Two of a group, of which one may be down at a time, on a fake machine without faults. */
class MutualWaitTest {
    private static final WorkloadId DB = WorkloadId.plugin("alpha");
    private static final WorkloadId WEB = WorkloadId.plugin("beta");
    private static final MaxDisruption ONE = new MaxDisruption(Wish.LABEL, 1);

    private final VirtualClock clock = new VirtualClock();
    private final Declarations desired = new Declarations();
    private final FakeMachine machine = new FakeMachine(Dice.kind(Fate.IDS), clock, desired, 1);
    private final WorkloadPass pass = new WorkloadPass(
            machine.asked, machine.observer, machine.executor, machine.store, clock, id -> "", new Silence());

    @Test
    void whatDoesNotRunWellIsReplacedThoughTheOtherIsDownBecauseItWaitsForIt() {
        declare(DB, "NEVER_LISTENS-1", ImmutableList.of());
        declare(WEB, "GOOD-1", ImmutableList.of(DB.toString()));
        passes(10);
        assertEquals(List.of("NEVER_LISTENS-1"), running(DB));
        assertEquals(List.of(), running(WEB));

        declare(DB, "GOOD-2", ImmutableList.of());
        passes(60);

        assertEquals(List.of("GOOD-2"), running(DB));
        assertEquals(List.of("GOOD-1"), running(WEB));
    }

    private void declare(WorkloadId id, String revision, ImmutableList<String> dependsOn) {
        desired.declare(
                SourceName.APPLIED,
                id,
                Wish.of(revision, ImmutableList.of(), "c").ordered(new Wish.Order(dependsOn, ONE, null)));
    }

    private List<String> running(WorkloadId id) {
        return machine.living(id).stream()
                .map(process -> process.launched.revision())
                .toList();
    }

    /** Over each, one a second. */
    private void passes(int seconds) {
        for (int i = 0; i < seconds; i++) {
            pass.run(DB);
            pass.run(WEB);
            clock.advance(Duration.ofSeconds(1));
        }
    }
}
