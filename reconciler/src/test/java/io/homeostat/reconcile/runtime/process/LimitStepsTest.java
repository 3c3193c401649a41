package io.homeostat.reconcile.runtime.process;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.desired.model.Lifecycle.Limits;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.model.schema.Size;
import io.homeostat.desired.platform.Layout;
import io.homeostat.observe.limits.CgroupLayout;
import io.homeostat.observe.process.LaunchDirectory.LaunchMarks;
import io.homeostat.observe.process.ProcFs;
import io.homeostat.observe.process.ProcessTree.Extent;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.record.Outcome;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** On a machine without control groups, or with a directory in their place. */
class LimitStepsTest {
    private static final WorkloadId ID = WorkloadId.process("p");
    private static final String LAUNCH = "0b0c6a0e-5f5c-4d0c-8a3e-6f1f0a6b7c8d";

    private final LimitSteps steps = new LimitSteps(
            new Layout(Path.of("/nowhere"), Path.of("/nowhere"), "i"), new ProcFs(), CgroupLayout.NONE, Extent.TREE);

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

    private static boolean isMarked(long pid) {
        return new ProcFs().variable(pid, LaunchMarks.LAUNCH).isPresent();
    }

    @Test
    void groupsStayInWhichAFormerInstanceHasProcesses(@TempDir Path root) throws Exception {
        Files.writeString(root.resolve("cgroup.controllers"), "memory\n");
        Path group = Files.createDirectories(root.resolve("homeostat.slice/process-p"));
        Layout layout = new Layout(root.resolve("state"), root.resolve("run"), "this");
        LimitSteps here = new LimitSteps(
                layout, new ProcFs(), CgroupLayout.detect(root, root.resolve("no-proc"), "homeostat"), Extent.TREE);
        ProcessBuilder sleep = new ProcessBuilder("/bin/sleep", "600");
        sleep.environment().put(LaunchMarks.LAUNCH, LAUNCH);
        Process process = sleep.start();
        try {
            // A program that has just begun has no environment for a moment.
            await().atMost(Duration.ofSeconds(60)).until(() -> isMarked(process.pid()));
            Files.writeString(group.resolve("cgroup.procs"), process.pid() + "\n");
            Files.createDirectories(layout.launch(ID, LAUNCH));
            assertThrows(ActuationFailure.class, () -> here.lift(ID), "what this one launched has to be ended");

            Files.createDirectories(layout.of("former").launch(ID, LAUNCH));
            here.lift(ID);
        } finally {
            process.destroyForcibly().waitFor();
        }
    }

    @Test
    void groupsStayInWhichThereIsWhatGoesOnWithoutWhoeverStartedIt(@TempDir Path root) throws Exception {
        Files.writeString(root.resolve("cgroup.controllers"), "memory\n");
        Path group = Files.createDirectories(root.resolve("homeostat.slice/process-p"));
        Files.writeString(group.resolve("cgroup.procs"), ProcessHandle.current().pid() + "\n");
        Layout layout = new Layout(root.resolve("state"), root.resolve("run"), "this");
        CgroupLayout groups = CgroupLayout.detect(root, root.resolve("no-proc"), "homeostat");
        assertThrows(ActuationFailure.class, () -> new LimitSteps(layout, new ProcFs(), groups, Extent.TREE).lift(ID));
        LimitSteps alone = new LimitSteps(layout, new ProcFs(), groups, Extent.MAIN);

        alone.lift(ID);
        assertTrue(Files.exists(group));

        Files.writeString(group.resolve("cgroup.procs"), "");
        assertThrows(
                ActuationFailure.class,
                () -> alone.lift(ID),
                "what nobody is in and can't be removed is a failure: here it is a directory with a file");
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
