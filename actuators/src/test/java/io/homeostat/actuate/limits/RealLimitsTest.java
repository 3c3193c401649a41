package io.homeostat.actuate.limits;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.common.collect.ImmutableSortedSet;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.limits.LimitEnforcer.CgroupPlan;
import io.homeostat.actuate.limits.LimitEnforcer.LimitResult.Enforced;
import io.homeostat.desired.model.Lifecycle.Limits;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.model.schema.Cpu;
import io.homeostat.desired.model.schema.Size;
import io.homeostat.observe.Observation;
import io.homeostat.observe.limits.CgroupHierarchy;
import io.homeostat.observe.limits.CgroupLayout;
import io.homeostat.observe.limits.Controller;
import io.homeostat.observe.limits.LimitObserver;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** The kernel's own control groups, where this machine lets us. */
@Execution(ExecutionMode.SAME_THREAD)
class RealLimitsTest {
    private static final Duration DEADLINE = Duration.ofSeconds(60);
    private static final WorkloadId ID = WorkloadId.process("hungry");
    private static final int OUT_OF_MEMORY = 128 + 9;

    /** What the launching shell does: it is in the groups before the program's first instruction. */
    private static final String JOIN =
            "while [ \"$1\" != -- ]; do echo 0 > \"$1\" || exit 125; shift; done; shift; exec \"$@\"";

    private final CgroupLayout layout = CgroupLayout.detect(
            Path.of("/sys/fs/cgroup"),
            Path.of("/proc"),
            "homeostat-test-" + ProcessHandle.current().pid());
    private final LimitEnforcer enforcer = new LimitEnforcer(layout);
    private final LimitObserver observer = new LimitObserver(layout);
    private final List<Process> started = new ArrayList<>();

    @BeforeEach
    void needControlGroups() {
        CgroupPlan plan = enforcer.prepare(ID, new Limits(new Size(64 << 20), new Cpu(50), true));
        assumeTrue(
                plan.enforcement() instanceof Enforced, () -> plan.enforcement().toString());
    }

    @AfterEach
    void leaveNothing() throws IOException {
        started.forEach(process -> {
            process.descendants().forEach(ProcessHandle::destroyForcibly);
            process.destroyForcibly();
        });
        await().atMost(DEADLINE).ignoreException(ActuationFailure.class).until(() -> {
            new GroupRemover(layout).remove(ID);
            return true;
        });
        for (CgroupHierarchy hierarchy : layout.hierarchies()) {
            Files.deleteIfExists(hierarchy.home());
        }
    }

    @Test
    void whatNeedsMoreMemoryThanItMayIsKilledAndCounted() throws Exception {
        CgroupPlan plan = enforcer.prepare(ID, new Limits(new Size(32 << 20), null, true));
        assertEquals(Observation.seen(0L), observer.oomKills(ID));

        Process modest = launch(plan, "dd", "if=/dev/zero", "of=/dev/null", "bs=8M", "count=1");
        assertEquals(0, modest.waitFor());
        assertEquals(Observation.seen(0L), observer.oomKills(ID));

        Process hungry = launch(plan, "dd", "if=/dev/zero", "of=/dev/null", "bs=256M", "count=1");
        assertEquals(OUT_OF_MEMORY, hungry.waitFor());
        assertEquals(Observation.seen(1L), observer.oomKills(ID));
    }

    @Test
    void aLimitHoldsForWhatTheProcessStarts() throws Exception {
        CgroupPlan plan = enforcer.prepare(ID, new Limits(new Size(32 << 20), null, true));
        Process parent = launch(plan, "sh", "-c", "dd if=/dev/zero of=/dev/null bs=256M count=1; exit $?");
        assertEquals(OUT_OF_MEMORY, parent.waitFor());
        assertEquals(Observation.seen(1L), observer.oomKills(ID));
    }

    @Test
    void whatWantsMoreTimeThanItMayIsHeldBack() throws Exception {
        CgroupPlan plan = enforcer.prepare(ID, new Limits(null, new Cpu(10), true));
        Process busy = launch(plan, "sh", "-c", "while :; do :; done");

        Path stat = group(Controller.CPU).resolve("cpu.stat");
        await().atMost(DEADLINE).until(() -> value(stat, "nr_throttled") >= 10);

        // Ten percent, and what the last period and the joining cost.
        long used = busy.info().totalCpuDuration().orElseThrow().toMillis();
        long allowed = value(stat, "nr_periods") * 10;
        assertTrue(used <= allowed + 100, used + " ms of " + allowed);
    }

    @Test
    void limitsAreChangedUnderTheRunningProcess() throws Exception {
        Limits first = new Limits(new Size(64 << 20), new Cpu(10), false);
        Process process = launch(enforcer.prepare(ID, first), "sleep", "300");
        assertEquals(Observation.seen(first), observer.observe(ID));

        Limits second = new Limits(new Size(48 << 20), new Cpu(250), false);
        assertEquals(new Enforced(), enforcer.apply(ID, second, List.of()));
        assertEquals(Observation.seen(second), observer.observe(ID));
        assertEquals(new Enforced(), enforcer.apply(ID, Limits.NONE, List.of()));
        assertEquals(Observation.seen(Limits.NONE), observer.observe(ID));
        assertTrue(process.isAlive());
    }

    @Test
    void whatSomebodyChangesIsSeen() throws Exception {
        Limits declared = new Limits(new Size(1_000_000), new Cpu(10), false);
        enforcer.prepare(ID, declared);
        Limits kept = ((Observation.Seen<Limits>) observer.observe(ID)).value();
        assertTrue(LimitObserver.agree(declared, kept), kept.toString());

        enforcer.apply(ID, new Limits(new Size(2_000_000), new Cpu(10), false), List.of());
        Limits changed = ((Observation.Seen<Limits>) observer.observe(ID)).value();
        assertTrue(!LimitObserver.agree(declared, changed), changed.toString());
    }

    @Test
    void theWholeTreeIsInsideAndItsGroupsStayWhileItIs() throws Exception {
        CgroupPlan plan = enforcer.prepare(ID, Limits.NONE);
        Process parent = launch(plan, "sh", "-c", "sleep 300 & sleep 300");
        await().atMost(DEADLINE).until(() -> parent.descendants().count() == 2);
        ImmutableSortedSet<Long> tree = ImmutableSortedSet.<Long>naturalOrder()
                .add(parent.pid())
                .addAll(parent.descendants().map(ProcessHandle::pid).toList())
                .build();

        assertEquals(Observation.seen(tree), observer.pids(ID));
        assertEquals(Observation.seen(true), observer.holds(ID, parent.pid()));
        assertEquals(
                Observation.seen(false),
                observer.holds(ID, ProcessHandle.current().pid()));
        ActuationFailure failure = assertThrows(ActuationFailure.class, () -> new GroupRemover(layout).remove(ID));
        assertTrue(String.valueOf(failure.getMessage()).contains(Long.toString(parent.pid())), failure.getMessage());
        assertTrue(parent.isAlive());
    }

    private Process launch(CgroupPlan plan, String... program) throws IOException {
        List<String> command = new ArrayList<>(List.of("/bin/sh", "-c", JOIN, "sh"));
        plan.procs().forEach(file -> command.add(file.toString()));
        command.add("--");
        command.addAll(List.of(program));
        Process process = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .start();
        started.add(process);
        return process;
    }

    private Path group(Controller controller) {
        return layout.hierarchies().stream()
                .filter(hierarchy -> hierarchy.controllers().contains(controller))
                .findFirst()
                .orElseThrow()
                .group(ID);
    }

    private static long value(Path file, String name) throws IOException {
        return Files.readAllLines(file).stream()
                .filter(line -> line.startsWith(name + " "))
                .mapToLong(line -> Long.parseLong(line.substring(name.length() + 1)))
                .findFirst()
                .orElseThrow();
    }
}
