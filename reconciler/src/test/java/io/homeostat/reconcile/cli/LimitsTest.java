package io.homeostat.reconcile.cli;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.homeostat.actuate.limits.GroupRemover;
import io.homeostat.actuate.limits.LimitEnforcer;
import io.homeostat.actuate.limits.LimitEnforcer.LimitResult;
import io.homeostat.desired.model.Lifecycle.Limits;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.model.schema.Cpu;
import io.homeostat.desired.model.schema.Size;
import io.homeostat.observe.Observation;
import io.homeostat.observe.limits.CgroupHierarchy;
import io.homeostat.observe.limits.CgroupLayout;
import io.homeostat.observe.limits.Controller;
import io.homeostat.observe.limits.LimitObserver;
import io.homeostat.reconcile.cli.Shell.Result;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Limits in the kernel's own control groups, where this machine lets us: as root, or in a delegated unit. */
class LimitsTest {
    private static final WorkloadId ID = WorkloadId.process("a");
    private static final Duration DEADLINE = Duration.ofSeconds(60);

    @TempDir
    Path directory;

    private Shell shell;
    private CgroupLayout groups;
    private LimitObserver observer;

    @BeforeEach
    void needControlGroups() throws Exception {
        shell = new Shell(directory);
        groups = CgroupLayout.detect(shell.layout());
        observer = new LimitObserver(groups);
        LimitResult enforcement = new LimitEnforcer(groups)
                .prepare(ID, new Limits(new Size(64 << 20), new Cpu(50), true))
                .enforcement();
        new GroupRemover(groups).remove(ID);
        assumeTrue(enforcement instanceof LimitResult.Enforced, enforcement::toString);
    }

    @AfterEach
    void leaveNothingBehind() {
        shell.close();
        for (CgroupHierarchy hierarchy : groups.hierarchies()) {
            assertFalse(Files.exists(hierarchy.group(ID)), "removed with the workload");
            assertFalse(Files.exists(hierarchy.home()) && hierarchy.isHomeOurs(), "removed with the last workload");
        }
    }

    @Test
    void theWholeTreeIsInsideFromTheFirstInstruction() throws IOException {
        apply("limits: {memory: 64Mi, cpu: 50%, required: true}", "cat /proc/self/cgroup; sleep 600 & sleep 600");

        assertEquals(Observation.seen(new Limits(new Size(64 << 20), new Cpu(50), false)), observer.observe(ID));
        await().atMost(DEADLINE)
                .until(() -> observer.pids(ID).map(pids -> pids.size() >= 3).equals(Observation.seen(true)));
        String log = shell.run("logs", ID.toString()).out();
        for (CgroupHierarchy hierarchy : groups.hierarchies()) {
            assertTrue(log.contains("/" + hierarchy.home().getFileName() + "/process-a"), log);
        }
        assertTrue(shell.run("status", ID.toString()).out().contains("RUNNING"));
    }

    @Test
    void whatUsesMoreMemoryThanItMayIsReportedAsOutOfMemory() throws IOException {
        Path go = directory.resolve("go");
        apply(
                "limits: {memory: 64Mi}",
                "while ! [ -e " + go + " ]; do sleep 0.05; done; exec dd if=/dev/zero of=/dev/null bs=200M count=1");
        long pid = shell.pid(ID);

        Files.createFile(go);
        await().atMost(DEADLINE)
                .until(() -> !ProcessHandle.of(pid).map(ProcessHandle::isAlive).orElse(false));
        Files.delete(go);
        String plan = shell.run("plan").out();
        shell.run("apply", "-f", directory + "/a.yaml");

        assertTrue(
                plan.contains("(drift: ")
                        && plan.contains("status 137, out of memory; limits.memory is 64Mi: raise it"),
                plan);
        String status = shell.run("status", ID.toString(), "-o", "json").out();
        assertTrue(status.contains("\"signal\":9,\"reason\":\"OOM_KILLED\""), status);
        String events = shell.run("events").out();
        assertTrue(events.contains("PLUGIN_CRASHED"), events);
        assertTrue(events.contains("out of memory"), events);
    }

    @Test
    void whatIsKilledOtherwiseIsNotReportedAsOutOfMemory() throws IOException {
        apply("limits: {memory: 64Mi}", "sleep 600");
        ProcessHandle process = ProcessHandle.of(shell.pid(ID)).orElseThrow();
        process.destroyForcibly();
        await().atMost(DEADLINE).until(() -> !process.isAlive());

        String plan = shell.run("plan").out();

        assertTrue(plan.contains("(drift: ") && plan.contains("(SIGKILL)"), plan);
        assertFalse(plan.contains("out of memory"), plan);
    }

    @Test
    void aChangedDeclarationChangesTheLimitsOfWhatRuns() throws IOException {
        apply("limits: {memory: 64Mi}", "sleep 600");
        long pid = shell.pid(ID);

        declare("limits: {memory: 128Mi, cpu: 20%}", "sleep 600");
        String plan = shell.run("plan", "-f", directory + "/a.yaml").out();
        Result apply = shell.run("apply", "-f", directory + "/a.yaml");

        assertTrue(plan.contains("~ process/a"), plan);
        assertTrue(plan.contains("(limits changed: memory 64Mi -> 128Mi, cpu unlimited -> 20%)"), plan);
        assertEquals(0, apply.status(), apply.out());
        assertEquals(Observation.seen(new Limits(new Size(128 << 20), new Cpu(20), false)), observer.observe(ID));
        assertEquals(pid, shell.pid(ID));
        assertTrue(
                shell.run("plan").out().contains("0 to repair"),
                shell.run("plan").out());

        apply("limits: {required: false}", "sleep 600");
        assertEquals(Observation.seen(Limits.NONE), observer.observe(ID));
        assertEquals(pid, shell.pid(ID));
    }

    @Test
    void limitsThatSomebodyChangedAreSetAgain() throws Exception {
        apply("limits: {memory: 64Mi, cpu: 20%}", "sleep 600");
        long pid = shell.pid(ID);
        new LimitEnforcer(groups).apply(ID, new Limits(new Size(1 << 30), new Cpu(20), false), List.of());

        String plan = shell.run("plan").out();
        Result apply = shell.run("apply", "-f", directory + "/a.yaml");

        assertTrue(plan.contains("(drift: ") && plan.contains("memory 1Gi instead of 64Mi)"), plan);
        assertEquals(0, apply.status(), apply.out());
        assertEquals(Observation.seen(new Limits(new Size(64 << 20), new Cpu(20), false)), observer.observe(ID));
        assertEquals(pid, shell.pid(ID));
        assertTrue(shell.run("events").out().contains("DRIFT_DETECTED"));
    }

    @Test
    void aProcessThatSomebodyMovedOutIsMovedBack() throws Exception {
        apply("limits: {memory: 64Mi}", "sleep 600");
        long pid = shell.pid(ID);
        CgroupHierarchy memory = groups.hierarchies().stream()
                .filter(each -> each.controllers().contains(Controller.MEMORY))
                .findFirst()
                .orElseThrow();
        Files.writeString(memory.home().resolveSibling("cgroup.procs"), Long.toString(pid));

        String plan = shell.run("plan").out();
        Result apply = shell.run("apply", "-f", directory + "/a.yaml");

        assertTrue(plan.contains("(drift: process " + pid + " "), plan);
        assertEquals(0, apply.status(), apply.out());
        assertEquals(Observation.seen(true), observer.holds(ID, pid));
        assertEquals(pid, shell.pid(ID));
    }

    @Test
    void aChildThatLeftEveryTraceOfWhoseItIsIsStoppedWithItsTree() throws IOException {
        Path pid = directory.resolve("pid");
        apply(
                "limits: {required: false}",
                "env -i setsid sh -c 'echo $$ > " + pid + "; exec sleep 600' & sleep 0.2; exec sleep 600");
        await().atMost(DEADLINE).until(() -> Files.exists(pid) && Files.size(pid) > 0);
        long left = Long.parseLong(Files.readString(pid).strip());
        assertTrue(ProcessHandle.of(left).isPresent());

        shell.run("delete", ID.toString());

        await().atMost(DEADLINE)
                .until(() -> !ProcessHandle.of(left).map(ProcessHandle::isAlive).orElse(false));
    }

    @Test
    void whatDiesOfItsLimitsBeforeItBeginsSaysSo() throws IOException {
        declare("limits: {memory: 4Ki}\n  start: {attempts: 1}", "sleep 600");

        Result apply = shell.run("apply", "-f", directory + "/a.yaml", "--timeout", "20s");

        assertEquals(1, apply.status());
        assertTrue(apply.out().contains("raise limits.memory"), apply.out() + apply.err());
    }

    private void apply(String limits, String script) throws IOException {
        declare(limits, script);
        Result result = shell.run("apply", "-f", directory + "/a.yaml");
        assertEquals(0, result.status(), result.out() + result.err());
    }

    private void declare(String limits, String script) throws IOException {
        shell.write("a.yaml", """
                apiVersion: homeostat.io/v1
                kind: Process
                metadata: {name: a}
                spec:
                  install: local
                  entryPoint: /bin/sh
                  arguments: ["-c", "%s"]
                  stop: {timeout: 5s}
                  %s
                """.formatted(script, limits));
    }
}
