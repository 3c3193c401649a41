package io.homeostat.reconcile.loop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.reconcile.plan.Action;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.plan.WorkloadPlan;
import java.time.Instant;
import java.util.Optional;
import java.util.function.IntFunction;
import org.junit.jupiter.api.Test;

class RepeatedStepsTest {
    private static final WorkloadId ID = WorkloadId.process("web");
    private static final WorkloadPlan PLAN =
            new WorkloadPlan(ID, Action.REINSTALL, Reason.INSTALL_DAMAGED, "", ImmutableList.of(), null, null);

    private final RepeatedSteps repeated = new RepeatedSteps();

    @Test
    void aRepairIsTheSameStepInWhateverDirectory() {
        assertLimited(i -> new Step.Unpack(ID, "key", null, "1", "web_1~" + i, "run"));
        assertLimited(i -> new Step.Activate(ID, "web_1~" + i));
        assertLimited(i -> new Step.CollectGarbage(ID, ImmutableList.of("web_1~" + i)));
    }

    private void assertLimited(IntFunction<Step> step) {
        for (int i = 0; i < RepeatedSteps.AT_ONCE; i++) {
            assertEquals(Optional.empty(), repeated.pause(PLAN, step.apply(i), Instant.EPOCH));
            repeated.done(step.apply(i), Instant.EPOCH);
        }
        assertTrue(repeated.pause(PLAN, step.apply(-1), Instant.EPOCH).isPresent());
    }

    @Test
    void anotherArchiveIsAnotherStep() {
        for (int i = 0; i < 2 * RepeatedSteps.AT_ONCE; i++) {
            Step unpack = new Step.Unpack(ID, "key" + i, null, "1", "web_1", "run");
            assertEquals(Optional.empty(), repeated.pause(PLAN, unpack, Instant.EPOCH));
            repeated.done(unpack, Instant.EPOCH);
        }
    }
}
