package io.homeostat.reconcile.record;

import static io.homeostat.reconcile.plan.Example.NOW;
import static io.homeostat.reconcile.plan.Example.failed;
import static io.homeostat.reconcile.plan.Example.plugin;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.reconcile.plan.Judgement;
import io.homeostat.reconcile.plan.Situation;
import java.util.Objects;
import org.junit.jupiter.api.Test;

/** Which generation is said to have been acted on: whoever waits for his own must see it. */
class ObservedGenerationTest {
    @Test
    void anotherSourceThatWantsJustTheSameIsActedOn() {
        assertEquals(7, afterGeneration(7, SourceName.FILES).observedGeneration());
    }

    @Test
    void whatIsDeclaredAgainBeforeAnybodyLookedIsActedOn() {
        assertEquals(2, afterGeneration(2, SourceName.APPLIED).observedGeneration());
    }

    @Test
    void anotherGenerationOfTheSameForgetsNoFailure() {
        assertEquals(3, afterGeneration(7, SourceName.FILES).attempts().start().count());
    }

    /** What is remembered of a workload that was acted on, once just the same is declared in another generation. */
    private static WorkloadHistory afterGeneration(long generation, SourceName source) {
        Situation before = plugin().wants("A")
                .attempts(attempts -> attempts.withStart(failed(3, NOW)))
                .learned()
                .situation();
        Declaration old = Objects.requireNonNull(before.declared());
        Declaration next = new Declaration(old.workload(), source, generation, old.hash(), ImmutableList.of());
        Situation now = new Situation(
                next,
                before.policy(),
                before.seen(),
                before.host(),
                before.relations(),
                before.archives(),
                before.history(),
                before.pause(),
                Judgement.checks(next, before.history(), before.now()),
                before.seed(),
                before.now());
        return ObservationRecorder.observed(now).situation().history();
    }
}
