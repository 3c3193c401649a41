package io.homeostat.reconcile.command.output;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.DesiredState;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.reconcile.command.environment.GlobalOptions.OutputFormat;
import io.homeostat.reconcile.plan.Action;
import io.homeostat.reconcile.plan.Plan;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.plan.WorkloadPlan;
import io.homeostat.reconcile.plan.WorkloadPlan.Facts;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** The examples of the specification, to the letter: both forms are public interfaces. */
class PlanRenderingTest {
    private static final WorkloadId EXPORTER = WorkloadId.process("node-exporter");

    private static final WorkloadPlan INSTALL = plan(
            WorkloadId.plugin("ops-agent"),
            Action.INSTALL,
            Reason.NOT_INSTALLED,
            "not installed",
            null,
            "67C5640D",
            new Step.Activate(WorkloadId.plugin("ops-agent"), "d"),
            new Step.Remove(WorkloadId.plugin("ops-agent")));

    private static final WorkloadPlan UPGRADE = plan(
            WorkloadId.plugin("sap-hana-01"),
            Action.UPGRADE,
            Reason.REVISION_CHANGED,
            "revision changed",
            "A1B2",
            "C3D4");

    private static final WorkloadPlan RESTART =
            plan(EXPORTER, Action.RESTART, Reason.PROCESS_EXITED, "out of memory", "local", "local");

    private static final WorkloadPlan REMOVE = plan(
            WorkloadId.plugin("legacy"), Action.REMOVE, Reason.NO_LONGER_DECLARED, "no longer declared", "11AA", null);

    @Test
    void textIsAsSpecified() {
        ImmutableList.Builder<WorkloadPlan> plans =
                ImmutableList.<WorkloadPlan>builder().add(INSTALL, UPGRADE, RESTART, REMOVE);
        IntStream.range(0, 12).forEach(i -> plans.add(unchanged("process-" + i)));
        assertEquals("""
                  + plugin/ops-agent          install 67C5640D              (not installed)
                  ~ plugin/sap-hana-01        upgrade A1B2 -> C3D4          (revision changed)
                  ! process/node-exporter     restart                       (drift: out of memory)
                  - plugin/legacy             remove 11AA                   (no longer declared)

                Plan: 1 to install, 1 to update, 1 to repair, 1 to remove, 12 unchanged.
                """, text(new Plan(plans.build()), new Ansi(false)));
    }

    @Test
    void nothingToDoIsOneLine() {
        assertEquals(
                "Plan: 0 to install, 0 to update, 0 to repair, 0 to remove, 1 unchanged.\n",
                text(new Plan(ImmutableList.of(unchanged("p"))), new Ansi(false)));
    }

    @Test
    void waitingIsCountedOnlyWhenSomethingWaits() {
        WorkloadPlan waiting =
                plan(EXPORTER, Action.WAIT, Reason.INSTALL_FAILED, "could not install 2: no route\nto host", "1", "2");
        assertEquals("""
                  . process/node-exporter     wait                          (could not install 2: no route to host)

                Plan: 0 to install, 0 to update, 0 to repair, 0 to remove, 1 waiting, 0 unchanged.
                """, text(new Plan(ImmutableList.of(waiting)), new Ansi(false)));
    }

    @Test
    void columnsGrowWithWhatIsInThem() {
        WorkloadPlan wide = plan(
                WorkloadId.plugin("a-name-that-is-wider-than-most"),
                Action.UPGRADE,
                Reason.REVISION_CHANGED,
                "revision changed",
                "a-long-revision-1",
                "a-long-revision-2");
        assertEquals("""
                  + plugin/ops-agent                       install 67C5640D                                (not installed)
                  ~ plugin/a-name-that-is-wider-than-most  upgrade a-long-revision-1 -> a-long-revision-2  (revision changed)

                Plan: 1 to install, 1 to update, 0 to repair, 0 to remove, 0 unchanged.
                """, text(new Plan(ImmutableList.of(INSTALL, wide)), new Ansi(false)));
    }

    @Test
    void coloursAreOnTheSymbolsOnly() {
        assertEquals("""
                  \u001b[31m-\u001b[0m plugin/legacy             remove 11AA                   (no longer declared)

                \u001b[1mPlan:\u001b[0m 0 to install, 0 to update, 0 to repair, 1 to remove, 0 unchanged.
                """, text(new Plan(ImmutableList.of(REMOVE)), new Ansi(true)));
    }

    @Test
    void aMessageCanNotSpeakToTheTerminal() {
        WorkloadPlan hostile = plan(EXPORTER, Action.WAIT, Reason.START_FAILED, "said \u001b]0;title\u0007", null, "1");
        assertEquals(
                "  . process/node-exporter     wait                          (said ?]0;title?)",
                text(new Plan(ImmutableList.of(hostile)), new Ansi(false))
                        .lines()
                        .findFirst()
                        .orElseThrow());
    }

    @Test
    void jsonTellsChangesFromDrift() {
        assertEquals(
                "{\"formatVersion\":\"1.0\",\"changes\":["
                        + "{\"workload\":\"plugin/ops-agent\",\"action\":\"install\",\"reason\":\"NOT_INSTALLED\","
                        + "\"message\":\"not installed\",\"steps\":[\"activate\",\"remove\"],\"before\":null,\"after\":{\"revision\":\"67C5640D\"}},"
                        + "{\"workload\":\"plugin/legacy\",\"action\":\"remove\",\"reason\":\"NO_LONGER_DECLARED\","
                        + "\"message\":\"no longer declared\",\"steps\":[\"wait\"],\"before\":{\"revision\":\"11AA\"},\"after\":null}],"
                        + "\"drift\":["
                        + "{\"workload\":\"process/node-exporter\",\"action\":\"restart\",\"reason\":\"PROCESS_EXITED\","
                        + "\"message\":\"out of memory\",\"steps\":[\"wait\"],"
                        + "\"before\":{\"revision\":\"local\"},\"after\":{\"revision\":\"local\"}}],"
                        + "\"summary\":{\"install\":1,\"update\":0,\"repair\":1,\"remove\":1,\"unchanged\":1}}\n",
                json(new Plan(ImmutableList.of(INSTALL, RESTART, REMOVE, unchanged("p")))));
    }

    @Test
    void jsonCountsWaitingOnlyWhenSomethingWaits() {
        WorkloadPlan waiting = plan(EXPORTER, Action.WAIT, Reason.CRASH_LOOP, "failed twice", "1", "1");
        assertEquals(
                "{\"formatVersion\":\"1.0\",\"changes\":[],\"drift\":["
                        + "{\"workload\":\"process/node-exporter\",\"action\":\"wait\",\"reason\":\"CRASH_LOOP\","
                        + "\"message\":\"failed twice\",\"steps\":[\"wait\"],\"before\":{\"revision\":\"1\"},\"after\":{\"revision\":\"1\"}}],"
                        + "\"summary\":{\"install\":0,\"update\":0,\"repair\":0,\"remove\":0,\"waiting\":1,\"unchanged\":0}}\n",
                json(new Plan(ImmutableList.of(waiting))));
    }

    private static WorkloadPlan unchanged(String name) {
        return new WorkloadPlan(
                WorkloadId.process(name), Action.NONE, Reason.AT_DESIRED_STATE, "", ImmutableList.of(), null, null);
    }

    private static WorkloadPlan plan(
            WorkloadId id,
            Action action,
            Reason reason,
            String message,
            @Nullable String before,
            @Nullable String after,
            Step... steps) {
        ImmutableList<Step> all = steps.length > 0
                ? ImmutableList.copyOf(steps)
                : ImmutableList.of(new Step.Wait(id, Instant.EPOCH, Step.Wait.Kind.RETRY, message));
        return new WorkloadPlan(
                id,
                action,
                reason,
                message,
                all,
                before == null ? null : new Facts(before),
                after == null ? null : new Facts(after));
    }

    private static String text(Plan plan, Ansi ink) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        PrintStream out = new PrintStream(bytes, true, StandardCharsets.UTF_8);
        PlanText.print(plan, new Console(out, out, OutputFormat.TEXT, ink));
        return bytes.toString(StandardCharsets.UTF_8);
    }

    private static String json(Plan plan) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        Json.print(new PrintStream(bytes, true, StandardCharsets.UTF_8), PlanJson.of(plan, DesiredState.EMPTY));
        return bytes.toString(StandardCharsets.UTF_8);
    }
}
