package io.homeostat.actuate.limits;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedSet;
import io.homeostat.actuate.limits.LimitEnforcer.CgroupPlan;
import io.homeostat.actuate.limits.LimitEnforcer.LimitResult;
import io.homeostat.actuate.limits.LimitEnforcer.LimitResult.Enforced;
import io.homeostat.actuate.limits.LimitEnforcer.LimitResult.Unavailable;
import io.homeostat.desired.model.Lifecycle.Limits;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.model.schema.Cpu;
import io.homeostat.desired.model.schema.Size;
import io.homeostat.observe.Observation;
import io.homeostat.observe.limits.CgroupLayout;
import io.homeostat.observe.limits.LimitObserver;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.UserDefinedFileAttributeView;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LimitEnforcerTest {
    private static final WorkloadId ID = WorkloadId.plugin("ops-agent");
    private static final Limits SOME = new Limits(new Size(256L << 20), new Cpu(20), false);

    @TempDir
    Path temp;

    @Test
    void atTheTopControllersAreEnabledStepByStep() throws IOException {
        FakeControlGroups kernel = kernel("cpuset cpu io memory pids");
        kernel.run(kernel.root, 1);
        LimitEnforcer enforcer = enforcer(kernel, "/user.slice");

        CgroupPlan plan = enforcer.prepare(ID, SOME);

        Path group = kernel.root.resolve("homeostat.slice/plugin-ops-agent");
        assertEquals(ImmutableList.of(group.resolve("cgroup.procs")), plan.procs());
        assertEquals(Optional.of(group.resolveSibling("keepers").resolve("cgroup.procs")), plan.keeper());
        assertEquals(new Enforced(), plan.enforcement());
        assertEquals(
                ImmutableList.of(
                        "cgroup.subtree_control +memory",
                        "cgroup.subtree_control +cpu",
                        "homeostat.slice/cgroup.subtree_control +memory",
                        "homeostat.slice/cgroup.subtree_control +cpu",
                        "homeostat.slice/plugin-ops-agent/memory.max 268435456",
                        "homeostat.slice/plugin-ops-agent/cpu.max 20000 100000"),
                kernel.written);
    }

    @Test
    void wholeTreesAreKilledTogetherWhereThatIsWantedAndNoLongerWhereItIsNot() throws IOException {
        FakeControlGroups kernel = kernel("cpu memory");
        LimitEnforcer enforcer = enforcer(kernel, "/user.slice");
        Limits together = new Limits(SOME.memory(), null, true, true);
        String file = "homeostat.slice/plugin-ops-agent/memory.oom.group";
        enforcer.prepare(ID, SOME);
        Path group = kernel.root.resolve("homeostat.slice/plugin-ops-agent");
        Files.writeString(group.resolve("memory.oom.group"), "0\n");

        assertEquals(new Enforced(), enforcer.apply(ID, together, ImmutableList.of()));
        assertTrue(kernel.written.contains(file + " 1"), kernel.written::toString);

        assertEquals(new Enforced(), enforcer.apply(ID, SOME, ImmutableList.of()));
        assertEquals(
                file + " 0",
                kernel.written.stream()
                        .filter(line -> line.startsWith(file))
                        .toList()
                        .getLast());
    }

    @Test
    void whereTheKernelCanNotKillWholeTreesThatIsSaid() throws IOException {
        FakeControlGroups kernel = kernel("cpu memory");
        LimitEnforcer enforcer = enforcer(kernel, "/user.slice");

        LimitResult enforcement = enforcer.prepare(ID, new Limits(SOME.memory(), null, true, true))
                .enforcement();

        assertTrue(enforcement.toString().contains("memory.oom.group"), enforcement::toString);
    }

    @Test
    void whatIsEnabledIsNotEnabledAgain() throws IOException {
        FakeControlGroups kernel = kernel("cpu memory");
        enforcer(kernel, "/").prepare(ID, SOME);
        kernel.written.clear();

        CgroupPlan again = enforcer(kernel, "/").prepare(ID, SOME);

        assertEquals(new Enforced(), again.enforcement());
        assertTrue(
                kernel.written.stream().noneMatch(line -> line.contains("subtree_control")), kernel.written::toString);
    }

    @Test
    void inADelegatedGroupTheAgentMovesOutOfTheWay() throws IOException {
        FakeControlGroups kernel = kernel("cpu memory");
        Path service = delegated(kernel);
        kernel.run(service, 100);
        kernel.run(service, 101);

        CgroupPlan plan = enforcer(kernel, "/system.slice/homeostat.scope").prepare(ID, SOME);

        assertEquals(new Enforced(), plan.enforcement());
        assertEquals(ImmutableList.of(service.resolve("plugin-ops-agent/cgroup.procs")), plan.procs());
        assertEquals("", Files.readString(service.resolve("cgroup.procs")));
        assertEquals("100\n101\n", Files.readString(service.resolve("agent/cgroup.procs")));
        kernel.run(service.resolve("plugin-ops-agent"), 102);

        // From its new place, nothing is different.
        CgroupPlan later = enforcer(kernel, "/system.slice/homeostat.scope/agent")
                .prepare(WorkloadId.process("node-exporter"), SOME);
        assertEquals(ImmutableList.of(service.resolve("process-node-exporter/cgroup.procs")), later.procs());
    }

    @Test
    void aControllerThatIsNotPassedDownIsNamedAndTheOtherEnforced() throws IOException {
        FakeControlGroups kernel = kernel("memory pids");

        CgroupPlan plan = enforcer(kernel, "/").prepare(ID, SOME);

        String reason = ((Unavailable) plan.enforcement()).reason();
        assertTrue(reason.contains("limits.cpu"), reason);
        assertFalse(reason.contains("limits.memory"), reason);
        assertEquals(1, plan.procs().size());
        assertEquals(
                "268435456\n", Files.readString(kernel.root.resolve("homeostat.slice/plugin-ops-agent/memory.max")));
    }

    @Test
    void aControllerThatNobodyAskedForIsNotMissed() throws IOException {
        FakeControlGroups kernel = kernel("memory pids");
        Limits memory = new Limits(new Size(1 << 20), null, true);
        assertEquals(new Enforced(), enforcer(kernel, "/").prepare(ID, memory).enforcement());
    }

    @Test
    void insideAContainerWhoseTopHasProcessesTheReasonIsTold() throws IOException {
        FakeControlGroups kernel = kernel("cpu memory");
        ControlFiles namespaced = refusing(kernel, "cgroup.subtree_control");

        CgroupPlan plan = new LimitEnforcer(layout(kernel, "/"), namespaced).prepare(ID, SOME);

        String reason = ((Unavailable) plan.enforcement()).reason();
        assertTrue(reason.contains(kernel.root.resolve("cgroup.subtree_control") + ": permission denied"), reason);
    }

    @Test
    void whereNoGroupCanBeMadeThereIsNoneToJoin() throws IOException {
        FakeControlGroups kernel = kernel("cpu memory");
        ControlFiles nothing = refusing(kernel, "homeostat.slice");

        CgroupPlan plan = new LimitEnforcer(layout(kernel, "/"), nothing).prepare(ID, SOME);

        assertEquals(ImmutableList.of(), plan.procs());
        assertInstanceOf(Unavailable.class, plan.enforcement());
        CgroupPlan unlimited = new LimitEnforcer(layout(kernel, "/"), nothing).prepare(ID, Limits.NONE);
        assertEquals(ImmutableList.of(), unlimited.procs());
        assertEquals(new Enforced(), unlimited.enforcement());
    }

    @Test
    void whereKeepersCanHaveNoGroupTheWorkloadIsLimitedAllTheSame() throws IOException {
        FakeControlGroups kernel = kernel("cpu memory");

        CgroupPlan plan = new LimitEnforcer(layout(kernel, "/"), refusing(kernel, "keepers")).prepare(ID, SOME);

        assertEquals(Optional.empty(), plan.keeper());
        assertEquals(1, plan.procs().size());
        assertEquals(new Enforced(), plan.enforcement());
    }

    @Test
    void aMachineWithoutControlGroupsSaysSo() {
        LimitEnforcer enforcer =
                new LimitEnforcer(CgroupLayout.detect(temp.resolve("nothing"), temp.resolve("proc"), "homeostat"));
        CgroupPlan plan = enforcer.prepare(ID, SOME);
        assertEquals(ImmutableList.of(), plan.procs());
        String reason = ((Unavailable) plan.enforcement()).reason();
        assertTrue(reason.contains("limits.memory") && reason.contains("limits.cpu"), reason);
    }

    @Test
    void limitsAreChangedInPlaceAndLifted() throws IOException {
        FakeControlGroups kernel = kernel("cpu memory");
        LimitEnforcer enforcer = enforcer(kernel, "/");
        LimitObserver observer = new LimitObserver(layout(kernel, "/"));
        enforcer.prepare(ID, SOME);
        kernel.run(kernel.root.resolve("homeostat.slice/plugin-ops-agent"), 4711);

        Limits other = new Limits(new Size(1L << 30), new Cpu(250), false);
        assertEquals(new Enforced(), enforcer.apply(ID, other, ImmutableList.of()));
        assertEquals(Observation.seen(other), observer.observe(ID));

        assertEquals(new Enforced(), enforcer.apply(ID, Limits.NONE, ImmutableList.of()));
        assertEquals(Observation.seen(Limits.NONE), observer.observe(ID));
    }

    @Test
    void whatRunsOutsideIsMovedIntoGroupsThatAreMadeForIt() throws IOException {
        FakeControlGroups kernel = kernel("cpu memory");
        LimitObserver observer = new LimitObserver(layout(kernel, "/"));
        kernel.run(kernel.root, 4711);

        assertEquals(new Enforced(), enforcer(kernel, "/").apply(ID, SOME, ImmutableList.of(4711L)));

        assertEquals(Observation.seen(ImmutableSortedSet.of(4711L)), observer.pids(ID));
        assertTrue(LimitObserver.agree(SOME, ((Observation.Seen<Limits>) observer.observe(ID)).value()));
    }

    private FakeControlGroups kernel(String controllers) throws IOException {
        return new FakeControlGroups(temp.resolve("cgroup"), controllers);
    }

    private static Path delegated(FakeControlGroups kernel) throws IOException {
        Path scope = service(kernel).resolveSibling("homeostat.scope");
        kernel.makeGroup(scope);
        UserDefinedFileAttributeView attributes = Files.getFileAttributeView(scope, UserDefinedFileAttributeView.class);
        assumeTrue(attributes != null, "this file system has no attributes of users");
        attributes.write("delegate", ByteBuffer.wrap("1".getBytes(StandardCharsets.US_ASCII)));
        return scope;
    }

    private static Path service(FakeControlGroups kernel) throws IOException {
        Path slice = kernel.root.resolve("system.slice");
        kernel.makeGroup(slice);
        kernel.write(kernel.root.resolve("cgroup.subtree_control"), "+memory");
        kernel.write(kernel.root.resolve("cgroup.subtree_control"), "+cpu");
        kernel.write(slice.resolve("cgroup.subtree_control"), "+memory");
        kernel.write(slice.resolve("cgroup.subtree_control"), "+cpu");
        Path service = slice.resolve("homeostat.service");
        kernel.makeGroup(service);
        return service;
    }

    private LimitEnforcer enforcer(FakeControlGroups kernel, String own) throws IOException {
        return new LimitEnforcer(layout(kernel, own), kernel);
    }

    private CgroupLayout layout(FakeControlGroups kernel, String own) throws IOException {
        Path self = Files.createDirectories(temp.resolve("proc/self"));
        Files.writeString(self.resolve("cgroup"), "0::" + own + "\n");
        return CgroupLayout.detect(kernel.root, temp.resolve("proc"), "homeostat");
    }

    /** A kernel that lets nobody touch what has this name. */
    private static ControlFiles refusing(ControlFiles kernel, String name) {
        return new ControlFiles() {
            @Override
            public void makeGroup(Path group) throws IOException {
                check(group);
                kernel.makeGroup(group);
            }

            @Override
            public void write(Path file, String text) throws IOException {
                check(file);
                kernel.write(file, text);
            }

            @Override
            public void removeGroup(Path group) throws IOException {
                check(group);
                kernel.removeGroup(group);
            }

            private void check(Path path) throws IOException {
                if (path.endsWith(name)) {
                    throw new AccessDeniedException(path.toString());
                }
            }
        };
    }
}
