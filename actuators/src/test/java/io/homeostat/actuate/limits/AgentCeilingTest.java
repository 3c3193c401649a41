package io.homeostat.actuate.limits;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.Iterables;
import io.homeostat.actuate.limits.LimitEnforcer.LimitResult;
import io.homeostat.actuate.limits.LimitEnforcer.LimitResult.Enforced;
import io.homeostat.actuate.limits.LimitEnforcer.LimitResult.Unavailable;
import io.homeostat.desired.model.Lifecycle.Limits;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.model.schema.Cpu;
import io.homeostat.desired.model.schema.Size;
import io.homeostat.observe.limits.AgentGroup;
import io.homeostat.observe.limits.CgroupLayout;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class AgentCeilingTest {
    private static final Limits LIMITS = new Limits(new Size(512L << 20), new Cpu(100), false);
    private static final String UNIT = "/system.slice/homeostat.service";
    private static final long SELF = 100;

    @TempDir
    Path temp;

    private FakeControlGroups kernel;
    private Path unit;

    @BeforeEach
    void startUnit() throws IOException {
        kernel = new FakeControlGroups(temp.resolve("cgroup"), "cpu memory pids");
        Path slice = kernel.root.resolve("system.slice");
        unit = slice.resolve("homeostat.service");
        kernel.makeGroup(slice);
        for (Path above : ImmutableList.of(kernel.root, slice)) {
            kernel.write(above.resolve("cgroup.subtree_control"), "+memory");
            kernel.write(above.resolve("cgroup.subtree_control"), "+cpu");
        }
        kernel.makeGroup(unit);
    }

    @Test
    void whereSystemdStartsItInTheUnitsGroupTheAgentMovesDownAndWhatIsLeftThereToTheKeepers() throws IOException {
        kernel.run(unit, SELF);
        kernel.run(unit, 7);

        assertEquals(new Enforced(), ceiling(UNIT, kernel).enter(SELF, LIMITS));

        assertEquals("100\n", procs(unit.resolve("supervisor")));
        assertEquals("", procs(unit));
        assertEquals("7\n", procs(kernel.root.resolve("homeostat.slice/keepers")));
        assertEquals("536870912\n", Files.readString(unit.resolve("supervisor/memory.max")));
        assertEquals("100000 100000\n", Files.readString(unit.resolve("supervisor/cpu.max")));
    }

    @Test
    void workloadsStayOutsideOfTheUnitSoThatItCanBeStartedAgain() throws IOException {
        kernel.run(unit, SELF);
        ceiling(UNIT, kernel).enter(SELF, LIMITS);

        CgroupLayout later = layout(UNIT + "/supervisor");

        new LimitEnforcer(later, kernel).prepare(WorkloadId.process("web"), Limits.NONE);
        assertTrue(Files.isDirectory(kernel.root.resolve("homeostat.slice/process-web")));
        assertFalse(Files.exists(unit.resolve("process-web")));
    }

    @Test
    void whatTheAgentLeavesLetsSystemdStartItThereAgain() throws IOException {
        kernel.run(unit, SELF);
        AgentCeiling ceiling = ceiling(UNIT, kernel);
        ceiling.enter(SELF, LIMITS);
        kernel.run(unit.resolve("supervisor"), 8);

        ceiling.leave();

        kernel.write(unit.resolve("cgroup.procs"), "101");
        assertEquals(new Enforced(), ceiling(UNIT, kernel).enter(101, LIMITS));
        assertEquals("101\n", procs(unit.resolve("supervisor")), "the next one is alone there");
    }

    @Test
    void whereSystemdStartsItInAGroupOfItsOwnTheAgentStaysAndTheKeepersThereLeave() throws IOException {
        kernel.makeGroup(unit.resolve("agent"));
        kernel.run(unit.resolve("agent"), SELF);
        kernel.run(unit.resolve("agent"), 7);
        AgentCeiling ceiling = ceiling(UNIT + "/agent", kernel);

        assertEquals(new Enforced(), ceiling.enter(SELF, LIMITS));
        ceiling.leave();

        assertEquals("100\n", procs(unit.resolve("agent")));
        assertEquals("7\n", procs(unit.resolve("keepers")));
        assertEquals("536870912\n", Files.readString(unit.resolve("agent/memory.max")));
        assertEquals("cpu memory\n", Files.readString(unit.resolve("cgroup.subtree_control")), "workloads need them");
    }

    @Test
    void otherLimitsHoldInPlace() throws IOException {
        kernel.run(unit, SELF);
        AgentCeiling ceiling = ceiling(UNIT, kernel);
        ceiling.enter(SELF, LIMITS);

        assertEquals(new Enforced(), ceiling.hold(new Limits(new Size(1L << 30), new Cpu(250), false)));

        assertEquals("1073741824\n", Files.readString(unit.resolve("supervisor/memory.max")));
        assertEquals("250000 100000\n", Files.readString(unit.resolve("supervisor/cpu.max")));
    }

    @Test
    void whoEndsWhileBeingMovedIsNotMissed() throws IOException {
        kernel.run(unit, SELF);
        kernel.run(unit, 7);
        ControlFiles ending = new Refusing(kernel, "homeostat.slice/keepers/cgroup.procs") {
            @Override
            void refuse(Path file) throws IOException {
                Files.writeString(unit.resolve("cgroup.procs"), "");
                super.refuse(file);
            }
        };

        assertEquals(new Enforced(), ceiling(UNIT, ending).enter(SELF, LIMITS));
    }

    @Test
    void whatCanNotBeMovedIsSaidAndNothingIsBounded() throws IOException {
        kernel.run(unit, SELF);
        kernel.run(unit, 7);

        LimitResult result = ceiling(UNIT, new Refusing(kernel, "homeostat.slice/keepers/cgroup.procs"))
                .enter(SELF, LIMITS);

        String reason = assertInstanceOf(Unavailable.class, result).reason();
        assertTrue(reason.startsWith("it can't have a control group of its own: "), reason);
        assertTrue(reason.contains("keepers/cgroup.procs: permission denied"), reason);
    }

    @Test
    void whoCouldNotEnterSetsNoLimitsLaterEither() throws IOException {
        kernel.run(unit, SELF);
        kernel.run(unit, 7);
        AgentCeiling ceiling = ceiling(UNIT, new Refusing(kernel, "homeostat.slice/keepers/cgroup.procs"));
        LimitResult result = ceiling.enter(SELF, LIMITS);
        kernel.run(kernel.root, 7);

        assertEquals(result, ceiling.hold(LIMITS));

        assertFalse(Files.exists(unit.resolve("supervisor/memory.max")));
    }

    @Test
    void whoeverIsOutsideOurNamespaceIsNotTakenForUs() throws IOException {
        kernel.run(unit, SELF);
        kernel.makeGroup(unit.resolve("supervisor"));
        Files.writeString(unit.resolve("supervisor/cgroup.procs"), "0\n");

        assertEquals(new Enforced(), ceiling(UNIT, kernel).enter(SELF, LIMITS));

        assertFalse(
                kernel.written.stream().anyMatch(each -> each.endsWith("cgroup.procs 0")), kernel.written::toString);
    }

    @Test
    void theGroupOfAnAgentThatSystemdHasStartedOtherwiseIsRemoved() throws IOException {
        for (String former : List.of("supervisor", "agent")) {
            String own = UNIT + (former.equals("agent") ? "" : "/agent");
            Path started = kernel.root.resolve(own.substring(1));
            kernel.makeGroup(started);
            kernel.run(started, SELF);
            kernel.makeGroup(unit.resolve(former));
            kernel.run(unit.resolve(former), 7);
            AgentCeiling ceiling = ceiling(own, kernel);

            assertEquals(new Enforced(), ceiling.enter(SELF, LIMITS));

            assertFalse(Files.exists(unit.resolve(former)), former);
            for (String controller : List.of("memory", "cpu")) {
                kernel.write(unit.resolve("cgroup.subtree_control"), "-" + controller);
            }
        }
    }

    @Test
    void theGroupOfAFormerAgentThatIsStillUsedKeepsItFromNothing() throws IOException {
        kernel.makeGroup(unit.resolve("agent"));
        kernel.run(unit.resolve("agent"), SELF);
        kernel.makeGroup(unit.resolve("supervisor"));
        Files.writeString(unit.resolve("supervisor/cgroup.procs"), "0\n");

        assertEquals(new Enforced(), ceiling(UNIT + "/agent", kernel).enter(SELF, LIMITS));

        assertEquals("536870912\n", Files.readString(unit.resolve("agent/memory.max")));
    }

    private AgentCeiling ceiling(String own, ControlFiles files) throws IOException {
        CgroupLayout layout = layout(own);
        AgentGroup place =
                AgentGroup.find(kernel.root, temp.resolve("proc"), true).orElseThrow();
        return new AgentCeiling(
                place, Iterables.getOnlyElement(layout.hierarchies()).keepers(), files);
    }

    private CgroupLayout layout(String own) throws IOException {
        Path self = Files.createDirectories(temp.resolve("proc/self"));
        Files.writeString(self.resolve("cgroup"), "0::" + own + "\n");
        return CgroupLayout.detect(kernel.root, temp.resolve("proc"), "homeostat");
    }

    private static String procs(Path group) throws IOException {
        return Files.readString(group.resolve("cgroup.procs"));
    }

    /** A kernel that lets nobody write to one file. */
    private static class Refusing implements ControlFiles {
        private final FakeControlGroups kernel;
        private final Path refused;

        Refusing(FakeControlGroups kernel, String refused) {
            this.kernel = kernel;
            this.refused = kernel.root.resolve(refused);
        }

        @Override
        public void makeGroup(Path group) throws IOException {
            kernel.makeGroup(group);
        }

        @Override
        public void write(Path file, String text) throws IOException {
            if (file.equals(refused)) {
                refuse(file);
            }
            kernel.write(file, text);
        }

        void refuse(Path file) throws IOException {
            throw new AccessDeniedException(file.toString());
        }

        @Override
        public void removeGroup(Path group) throws IOException {
            kernel.removeGroup(group);
        }
    }
}
