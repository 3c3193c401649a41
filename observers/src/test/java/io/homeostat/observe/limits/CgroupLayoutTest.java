package io.homeostat.observe.limits;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.Iterables;
import io.homeostat.desired.model.Lifecycle.Limits;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.model.schema.Cpu;
import io.homeostat.desired.model.schema.Size;
import io.homeostat.desired.platform.Layout;
import io.homeostat.observe.limits.CgroupHierarchy.Version;
import io.homeostat.observe.limits.ObservedLimits.LimitObstacles;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.UserDefinedFileAttributeView;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CgroupLayoutTest {
    private static final WorkloadId ID = WorkloadId.process("node-exporter");

    @TempDir
    Path temp;

    private Path root;
    private Path proc;

    @BeforeEach
    void makeRoots() throws IOException {
        root = Files.createDirectory(temp.resolve("cgroup"));
        proc = Files.createDirectory(temp.resolve("proc"));
        Files.createDirectory(proc.resolve("self"));
    }

    @Test
    void aMachineWithoutControlGroupsHasNone() {
        assertEquals(ImmutableList.of(), detect().hierarchies());
    }

    @Test
    void version1HasATreePerController() throws IOException {
        version1("memory");
        version1("cpu");
        ImmutableList<CgroupHierarchy> found = detect().hierarchies();
        assertEquals(
                ImmutableList.of(
                        root.resolve("memory/homeostat/process-node-exporter"),
                        root.resolve("cpu/homeostat/process-node-exporter")),
                found.stream().map(each -> each.group(ID)).collect(ImmutableList.toImmutableList()));
        assertEquals(Version.V1, found.getFirst().version());
        assertEquals(ImmutableSet.of(Controller.MEMORY), found.getFirst().controllers());
    }

    @Test
    void aHybridMachineUsesTheUnifiedTreeForWhatTheOthersLack() throws IOException {
        version1("memory");
        unified("unified", "cpu pids");
        iAmIn("/");
        ImmutableList<CgroupHierarchy> found = detect().hierarchies();
        assertEquals(2, found.size());
        assertEquals(Version.V2, found.get(1).version());
        assertEquals(ImmutableSet.of(Controller.CPU), found.get(1).controllers());
        assertEquals(root.resolve("unified/homeostat.slice"), found.get(1).home());
    }

    @Test
    void aHybridMachineWhoseUnifiedTreeHasNothingForUsDoesNotUseIt() throws IOException {
        version1("memory");
        version1("cpu");
        unified("unified", "hugetlb");
        assertEquals(2, detect().hierarchies().size());
    }

    @Test
    void withoutDelegationAGroupAtTheTopIsUsed() throws IOException {
        unified("", "cpuset cpu io memory");
        unified("user.slice/session-3.scope", "cpu memory");
        iAmIn("/user.slice/session-3.scope");
        CgroupHierarchy only = Iterables.getOnlyElement(detect().hierarchies());
        assertEquals(root.resolve("homeostat.slice"), only.home());
        assertEquals(ImmutableList.of(root, only.home()), only.enabling());
        assertEquals(ImmutableSet.of(Controller.MEMORY, Controller.CPU), only.controllers());
    }

    @Test
    void ourServiceIsOurs() throws IOException {
        unified("", "cpu memory");
        unified("system.slice/homeostat.service", "memory pids");
        unified("system.slice/homeostat.service/agent", "");
        iAmIn("/system.slice/homeostat.service/agent");
        CgroupHierarchy only = Iterables.getOnlyElement(detect().hierarchies());
        Path service = root.resolve("system.slice/homeostat.service");
        assertEquals(service, only.home());
        assertEquals(ImmutableList.of(service), only.enabling());
        assertEquals(ImmutableSet.of(Controller.MEMORY), only.controllers());
        assertEquals(ImmutableList.of(root.resolve("homeostat.slice")), only.elsewhere());
    }

    @Test
    void aServiceThatSystemdStartsAtTheTopOfItsGroupLeavesItFree() throws IOException {
        unified("", "cpu memory");
        unified("system.slice/homeostat.service", "cpu memory");
        iAmIn("/system.slice/homeostat.service");
        Path before = Files.createDirectories(root.resolve("system.slice/homeostat.service/process-node-exporter"));
        CgroupHierarchy only = Iterables.getOnlyElement(detect().hierarchies());
        assertEquals(root.resolve("homeostat.slice"), only.home());
        assertEquals(ImmutableList.of(before), only.existing(ID), "a former version's");
    }

    @Test
    void theGroupForOurselvesIsNotTheSubtree() throws IOException {
        unified("", "cpu memory");
        unified("system.slice/homeostat.service", "cpu memory");
        unified("system.slice/homeostat.service/agent", "");
        iAmIn("/system.slice/homeostat.service/agent");
        CgroupHierarchy only = Iterables.getOnlyElement(detect().hierarchies());
        assertEquals(root.resolve("system.slice/homeostat.service"), only.home());
        assertEquals(ImmutableSet.of(Controller.MEMORY, Controller.CPU), only.controllers());
    }

    @Test
    void anotherServiceIsNotOursThoughRootMayWriteThere() throws IOException {
        unified("", "cpu memory");
        unified("system.slice/cron.service", "cpu memory");
        iAmIn("/system.slice/cron.service");
        assertEquals(
                root.resolve("homeostat.slice"),
                Iterables.getOnlyElement(detect().hierarchies()).home());
    }

    @Test
    void aUnitThatSystemdSaysIsDelegatedIsOursWhateverItsName() throws IOException {
        unified("", "cpu memory");
        unified("system.slice/run-r1.scope", "cpu memory");
        iAmIn("/system.slice/run-r1.scope");
        mark(root.resolve("system.slice/run-r1.scope"));
        assertEquals(
                root.resolve("system.slice/run-r1.scope"),
                Iterables.getOnlyElement(detect().hierarchies()).home());
    }

    @Test
    void aGroupMadeByACommandBesideTheServiceIsFound() throws IOException {
        unified("", "cpu memory");
        unified("system.slice/homeostat.service", "cpu memory");
        iAmIn("/system.slice/homeostat.service/agent");
        Path made = Files.createDirectories(root.resolve("homeostat.slice/process-node-exporter"));
        CgroupHierarchy only = Iterables.getOnlyElement(detect().hierarchies());
        assertEquals(ImmutableList.of(made), only.existing(ID));
    }

    @Test
    void ofTwoGroupsTheOneWithProcessesCounts() throws IOException {
        unified("", "cpu memory");
        unified("system.slice/homeostat.service", "cpu memory");
        iAmIn("/system.slice/homeostat.service/agent");
        CgroupHierarchy only = Iterables.getOnlyElement(detect().hierarchies());
        Path left = Files.createDirectories(only.group(ID));
        Files.createFile(left.resolve("cgroup.procs"));
        assertEquals(left, only.current(ID).orElseThrow());
        Path used = Files.createDirectories(root.resolve("homeostat.slice/process-node-exporter"));
        Files.writeString(used.resolve("cgroup.procs"), "4711\n");
        assertEquals(used, only.current(ID).orElseThrow());
    }

    @Test
    void twoOfUsWithStateInTwoPlacesShareNoGroup() {
        CgroupLayout usual = CgroupLayout.detect(state("/var/lib/homeostat"));
        CgroupLayout one = CgroupLayout.detect(state("/tmp/one"));
        CgroupLayout two = CgroupLayout.detect(state("/tmp/two"));
        assertEquals(one, CgroupLayout.detect(state("/tmp/one")));
        for (int i = 0; i < one.hierarchies().size(); i++) {
            Path home = one.hierarchies().get(i).home();
            if (one.hierarchies().get(i).isHomeOurs()) {
                assertNotEquals(home, two.hierarchies().get(i).home());
                assertNotEquals(home, usual.hierarchies().get(i).home());
            }
        }
    }

    @Test
    void theServiceIsSomebodyElsesToWhoeverHasAnotherName() throws IOException {
        unified("", "cpu memory");
        CgroupHierarchy other = Iterables.getOnlyElement(
                CgroupLayout.detect(root, proc, "homeostat-1234").hierarchies());
        Path service = Files.createDirectories(root.resolve("system.slice/homeostat.service/process-node-exporter"));
        assertEquals(ImmutableList.of(), other.existing(ID));
        assertEquals(
                ImmutableList.of(service),
                Iterables.getOnlyElement(detect().hierarchies()).existing(ID));
    }

    @Test
    void onlyVersion2KillsWholeTreesTogether() throws IOException {
        unified("", "cpu memory");
        Limits together = new Limits(new Size(64 << 20), null, true, true);
        assertEquals(Optional.empty(), detect().obstacles().against(together));

        LimitObstacles first = new LimitObstacles(ImmutableMap.of(), "version 1");
        assertEquals(new Limits(new Size(64 << 20), null, true), first.enforceable(together));
        assertTrue(first.against(together).orElseThrow().startsWith("can't enforce limits.oomGroup (version 1)"));
        assertEquals(Optional.empty(), first.against(new Limits(new Size(64 << 20), null, true)));
    }

    @Test
    void aMissingControllerIsAnObstacleToItsLimitOnly() throws IOException {
        unified("", "memory pids");
        LimitObstacles obstacles = detect().obstacles();
        Limits both = new Limits(new Size(64 << 20), new Cpu(20), true);
        assertEquals(ImmutableMap.of(Controller.CPU, CgroupLayout.NO_CONTROLLER), obstacles.reasons());
        assertEquals(new Limits(new Size(64 << 20), null, true), obstacles.enforceable(both));
        String words = obstacles.against(both).orElseThrow();
        assertTrue(words.startsWith("can't enforce limits.cpu (this machine has no control groups for it"), words);
        assertEquals(Optional.empty(), obstacles.against(new Limits(new Size(64 << 20), null, true)));
    }

    @Test
    void aPlaceThatMayNotBeWrittenToIsAnObstacle() throws IOException {
        unified("", "cpu memory");
        assertTrue(root.toFile().setWritable(false));
        try {
            assumeTrue(!Files.isWritable(root), "root may write everywhere");
            assertEquals(
                    root + " may not be written to",
                    detect().obstacles().reasons().get(Controller.MEMORY));
        } finally {
            assertTrue(root.toFile().setWritable(true));
        }
    }

    private static Layout state(String directory) {
        return new Layout(Path.of(directory), Path.of("/run/homeostat"), "i");
    }

    private CgroupLayout detect() {
        return CgroupLayout.detect(root, proc, "homeostat");
    }

    private void version1(String controller) throws IOException {
        Path tree = Files.createDirectories(root.resolve(controller));
        Files.createFile(tree.resolve("cgroup.procs"));
    }

    private void unified(String group, String controllers) throws IOException {
        Path directory = Files.createDirectories(root.resolve(group));
        Files.writeString(directory.resolve("cgroup.controllers"), controllers + "\n");
    }

    private void iAmIn(String group) throws IOException {
        Files.writeString(proc.resolve("self/cgroup"), "4:memory:/elsewhere\n0::" + group + "\n");
    }

    private static void mark(Path group) throws IOException {
        UserDefinedFileAttributeView attributes = Files.getFileAttributeView(group, UserDefinedFileAttributeView.class);
        assumeTrue(attributes != null, "this file system has no attributes of users");
        attributes.write("delegate", ByteBuffer.wrap("1".getBytes(StandardCharsets.US_ASCII)));
    }
}
