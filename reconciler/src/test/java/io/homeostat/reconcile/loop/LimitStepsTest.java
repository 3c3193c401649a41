package io.homeostat.reconcile.loop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.desired.layout.Layout;
import io.homeostat.desired.model.Limits;
import io.homeostat.desired.model.Size;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.observe.CgroupLayout;
import io.homeostat.observe.ProcFs;
import io.homeostat.reconcile.plan.Outcome;
import io.homeostat.reconcile.plan.Step;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

/** On a machine without control groups. */
class LimitStepsTest {
    private static final WorkloadId ID = WorkloadId.process("p");

    private final LimitSteps steps =
            new LimitSteps(new Layout(Path.of("/nowhere"), Path.of("/nowhere"), "i"), new ProcFs(), CgroupLayout.NONE);

    @Test
    void whatMustNotRunWithoutItsLimitsIsNotLaunched() {
        ActuationFailure failure = assertThrows(
                ActuationFailure.class, () -> steps.prepare(ID, new Limits(new Size(64 << 20), null, true)));
        assertTrue(String.valueOf(failure.getMessage())
                .startsWith("could not launch process/p: limits.required is true: can't enforce"));
        assertFalse(failure.fatal());
    }

    @Test
    void whatMayRunWithoutIsLaunchedInNoGroup() throws ActuationFailure {
        assertEquals(
                ImmutableList.of(),
                steps.prepare(ID, new Limits(new Size(64 << 20), null, false)).procs());
        assertEquals(
                ImmutableList.of(),
                steps.prepare(ID, new Limits(null, null, true)).procs());
    }

    @Test
    void limitsThatCanNotBeSetAreAFailureThatIsTriedAgain() throws ActuationFailure {
        Outcome outcome =
                steps.change(new Step.SetLimits(ID, new Limits(new Size(64 << 20), null, false)), ImmutableList.of());
        Outcome.Failed failed = assertInstanceOf(Outcome.Failed.class, outcome);
        assertTrue(failed.error().contains("limits.memory"), failed.error());
        assertFalse(failed.fatal());
    }
}
