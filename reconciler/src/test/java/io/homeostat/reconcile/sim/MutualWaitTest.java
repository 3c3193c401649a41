package io.homeostat.reconcile.sim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.DesiredState;
import io.homeostat.desired.model.Lifecycle.MaxDisruption;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.observe.ObservedWorkload;
import io.homeostat.reconcile.loop.DesiredSource;
import io.homeostat.reconcile.loop.PassResult;
import io.homeostat.reconcile.loop.WorkloadPass;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.record.Outcome;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Two that wait for each other in some way, on a fake machine without faults. */
@Timeout(60)
class MutualWaitTest {
    private static final WorkloadId DB = WorkloadId.plugin("alpha");
    private static final WorkloadId WEB = WorkloadId.plugin("beta");
    private static final MaxDisruption ONE = new MaxDisruption(Wish.LABEL, 1);

    private final VirtualClock clock = new VirtualClock();
    private final Declarations desired = new Declarations();
    private final FakeMachine machine = new FakeMachine(FaultInjector.kind(Scenario.IDS), clock, desired, 1);
    private final WorkloadPass pass = new WorkloadPass(
            new Changing(),
            machine.observer,
            this::execute,
            machine.store,
            clock,
            id -> "",
            new OneShotScene.Silence(),
            Runnable::run);
    private boolean stopsAreInterrupted;
    private Runnable duringTheLook = () -> {};

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

    @Test
    void whoDependsOnWhatIsBeingStoppedWaitsAlsoWhenTheOutcomeIsNotKnown() {
        desired.declare(DB, "GOOD-1", ImmutableList.of(), "c");
        passes(10);
        desired.declare(SourceName.APPLIED, WEB, dependingOnDb());
        stopsAreInterrupted = true;
        desired.declare(DB, "GOOD-2", ImmutableList.of(), "c");
        PassResult last;
        do {
            last = pass.run(DB);
        } while (!(last instanceof PassResult.Again again && again.step() instanceof Step.Stop));
        assertEquals(List.of(), running(DB));

        PassResult web;
        do {
            web = pass.run(WEB);
        } while (web instanceof PassResult.Again);

        assertInstanceOf(PassResult.Later.class, web);
        assertEquals(List.of(), running(WEB));
        passes(10);
        assertEquals(List.of("GOOD-2"), running(DB));
        assertEquals(List.of("GOOD-1"), running(WEB));
    }

    @Test
    void nothingIsTakenDownForADeclarationThatWasReplacedDuringTheLook() {
        declare(DB, "NEVER_LISTENS-1", ImmutableList.of());
        declare(WEB, "GOOD-1", ImmutableList.of());
        passes(10);
        declare(WEB, "GOOD-2", ImmutableList.of());
        passes(10);
        assertEquals(List.of("GOOD-1"), running(WEB));

        duringTheLook = () -> desired.declare(WEB, "GOOD-3", ImmutableList.of(), "c");
        PassResult next = pass.run(WEB);

        assertEquals(
                Step.Wait.Kind.PROGRESS,
                assertInstanceOf(PassResult.Later.class, next).until().kind());
        assertEquals(List.of("GOOD-1"), running(WEB));
    }

    private static Wish dependingOnDb() {
        return Wish.of("GOOD-1", ImmutableList.of(), "c")
                .ordered(new Wish.Order(ImmutableList.of(DB.toString()), null, null));
    }

    private Outcome execute(Step step, ObservedWorkload seen) {
        Outcome outcome = machine.executor.execute(step, seen);
        return stopsAreInterrupted && step instanceof Step.Stop ? new Outcome.Interrupted() : outcome;
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

    /** What is wanted may change as soon as it was asked for. */
    private final class Changing implements DesiredSource {
        @Override
        public DesiredState now() {
            DesiredState answer = machine.asked.now();
            duringTheLook.run();
            return answer;
        }
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
