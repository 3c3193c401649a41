package io.homeostat.actuate.limits;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.limits.TaskGroups.Prepared;
import io.homeostat.desired.model.Lifecycle.Limits;
import io.homeostat.desired.model.schema.Cpu;
import io.homeostat.desired.model.schema.Size;
import io.homeostat.observe.Observation;
import io.homeostat.observe.limits.CgroupHierarchy.Version;
import io.homeostat.observe.limits.TaskCgroups;
import io.homeostat.observe.limits.TaskCgroups.Occupancy;
import io.homeostat.observe.limits.TaskGroupName;
import io.homeostat.observe.process.ProcFs;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The kernel's own control groups, where this machine lets us: those of version 1 and, where both are mounted, those of version 2. */
@Execution(ExecutionMode.SAME_THREAD)
class RealTaskGroupsTest {
    private static final Duration DEADLINE = Duration.ofSeconds(60);
    private static final String ROOT = "/sys/fs/cgroup";
    private static final String UNIFIED = "/sys/fs/cgroup/unified";
    private static final int KILLED = 128 + 9;

    /** What a driver's executor does: it is in all groups before the program's first instruction. */
    private static final String JOIN =
            "while [ \"$1\" != -- ]; do echo 0 > \"$1\"/cgroup.procs || exit 125; shift; done; shift; exec \"$@\"";

    private final TaskGroupName name = new TaskGroupName(UUID.randomUUID().toString(), "hungry");
    private final List<Path> parentsMade = new ArrayList<>();
    private final List<Process> started = new ArrayList<>();
    private final List<TaskGroups> used = new ArrayList<>();

    @TempDir
    Path temp;

    @AfterEach
    void leaveNothing() throws Exception {
        for (TaskGroups groups : used) {
            groups.kill(name);
            groups.remove(name);
        }
        started.forEach(Process::destroyForcibly);
        for (Path parent : parentsMade.reversed()) {
            try {
                Files.deleteIfExists(parent);
            } catch (FileSystemException e) {
                // Somebody else uses it by now.
                assertTrue(Files.isDirectory(parent), e.toString());
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {ROOT, UNIFIED})
    void groupsAreMadeOnceAndAgain(String root) throws Exception {
        TaskCgroups cgroups = cgroups(root);
        TaskGroups groups = prepared(cgroups);
        assertInstanceOf(Prepared.Ready.class, groups.prepare(name));

        assertEquals(
                Optional.of(true), cgroups.groups(name).stream().findFirst().map(Files::isDirectory));
        assertEquals(Observation.seen(new Occupancy(true, false, Occupancy.NONE.pids())), cgroups.look(name));
        assertFalse(groups.kill(name));
        groups.remove(name);
        groups.remove(name);
        assertEquals(Observation.seen(Occupancy.NONE), cgroups.look(name));
        assertFalse(groups.kill(name));
    }

    @Test
    void limitsAreInForceBeforeAnythingIsStartedAndLiftedByAStartWithout() throws Exception {
        TaskCgroups cgroups = cgroups(ROOT);
        TaskGroups groups = prepared(cgroups);
        Path memory = Path.of(ROOT, "memory", "nomad", name.allocation() + "." + name.task());
        Path cpu = Path.of(ROOT, "cpu", "nomad", name.allocation() + "." + name.task());
        assumeTrue(Files.isDirectory(memory) && Files.isDirectory(cpu));
        String unlimited = Files.readString(memory.resolve("memory.limit_in_bytes"));

        assertEquals(
                ImmutableSortedMap.of(),
                assertInstanceOf(
                                Prepared.Ready.class,
                                groups.prepare(name, new Limits(new Size(64 << 20), new Cpu(50), true)))
                        .lacking());

        assertEquals(
                Long.toString(64 << 20),
                Files.readString(memory.resolve("memory.limit_in_bytes")).strip());
        assertEquals("50000", Files.readString(cpu.resolve("cpu.cfs_quota_us")).strip());

        assertInstanceOf(Prepared.Ready.class, groups.prepare(name));

        assertEquals(unlimited, Files.readString(memory.resolve("memory.limit_in_bytes")));
        assertEquals("-1", Files.readString(cpu.resolve("cpu.cfs_quota_us")).strip());
    }

    @Test
    void theProcessorsAndMemoryThatTasksShareAreFilled() throws Exception {
        TaskCgroups cgroups = cgroups(ROOT);
        assumeTrue(cgroups.isMounted("cpuset"));
        prepared(cgroups);

        Path share = cgroups.cpuset(name).orElseThrow();
        for (String file : List.of("cpuset.cpus", "cpuset.mems")) {
            assertFalse(Files.readString(share.resolve(file)).isBlank(), file);
        }
        Process inside = launch(List.of(share), "sleep", "300");
        await().atMost(DEADLINE)
                .until(() -> Files.readAllLines(share.resolve("cgroup.procs")).contains(Long.toString(inside.pid())));
        inside.destroyForcibly().waitFor();
    }

    @Test
    void whatIsReservedNobodyElseIsOn() throws Exception {
        TaskCgroups cgroups = cgroups(ROOT);
        assumeTrue(cgroups.isMounted("cpuset"));
        assumeTrue(Runtime.getRuntime().availableProcessors() > 1, "one processor is nobody's own");
        TaskGroups groups = prepared(cgroups);
        Path share = cgroups.cpuset(name).orElseThrow();
        Process other = launch(List.of(share), "sleep", "300");
        String all = processorsOf(other, share);

        Limits one = new Limits(null, null, true, false, null, 1, null);
        assertInstanceOf(Prepared.Ready.class, groups.prepare(name, one));

        String own = cgroups.processors(name).orElseThrow();
        Process inside = launch(List.of(cgroups.cpuset(name).orElseThrow()), "sleep", "300");
        assertEquals(own, processorsOf(inside, cgroups.cpuset(name).orElseThrow()));
        BitSet shared = ReservedCores.parse(processorsOf(other, share));
        assertFalse(shared.intersects(ReservedCores.parse(own)), shared + " with " + own);

        inside.destroyForcibly().waitFor();
        groups.remove(name);
        assertEquals(all, processorsOf(other, share));
    }

    /** Once it is in that group. */
    private static String processorsOf(Process process, Path group) throws IOException {
        await().atMost(DEADLINE)
                .until(() -> Files.readAllLines(group.resolve("cgroup.procs")).contains(Long.toString(process.pid())));
        return Files.readAllLines(Path.of("/proc/" + process.pid() + "/status")).stream()
                .filter(line -> line.startsWith("Cpus_allowed_list:"))
                .map(line -> line.replaceAll(".*:\\s*", ""))
                .findFirst()
                .orElseThrow();
    }

    @ParameterizedTest
    @ValueSource(strings = {ROOT, UNIFIED})
    void whatHasLeftItsSessionAndItsParentIsKilledToo(String root) throws Exception {
        TaskCgroups cgroups = cgroups(root);
        TaskGroups groups = prepared(cgroups);
        Process parent =
                launch(existing(cgroups), "sh", "-c", "setsid sh -c 'sleep 300 & sleep 300' & trap '' TERM; sleep 300");
        await().atMost(DEADLINE).until(() -> pids(cgroups) == 5);
        ActuationFailure occupied = assertThrows(ActuationFailure.class, () -> groups.remove(name));
        assertTrue(String.valueOf(occupied.getMessage()).contains(Long.toString(parent.pid())), occupied.getMessage());

        assertTrue(groups.kill(name));

        assertEquals(0, pids(cgroups));
        assertEquals(KILLED, parent.waitFor());
        groups.remove(name);
    }

    @ParameterizedTest
    @ValueSource(strings = {ROOT, UNIFIED})
    void whatIsAnotherProcessEachTimeOneLooksCannotEscape(String root) throws Exception {
        TaskCgroups cgroups = cgroups(root);
        TaskGroups groups = prepared(cgroups);
        Path comet = temp.resolve("comet");
        Path turns = temp.resolve("turns");
        Files.writeString(comet, "echo >> " + turns + "\nsh " + comet + " &\n");
        launch(existing(cgroups), "sh", comet.toString());
        launch(existing(cgroups), "sh", comet.toString());
        await().atMost(DEADLINE).until(() -> Files.exists(turns) && Files.size(turns) > 50);

        assertTrue(groups.kill(name));

        assertEquals(0, pids(cgroups));
        long size = Files.size(turns);
        groups.remove(name);
        assertEquals(size, Files.size(turns));
    }

    @Test
    void whatAnInterruptedKillLeftFrozenIsKilledByTheNext() throws Exception {
        TaskCgroups cgroups = cgroups(ROOT);
        TaskGroups groups = prepared(cgroups);
        assumeTrue(cgroups.isMounted("freezer"));
        Process process = launch(existing(cgroups), "sleep", "300");
        await().atMost(DEADLINE).until(() -> pids(cgroups) == 1);
        Path own = existing(cgroups).getFirst();
        Path below = Files.createDirectory(own.resolve("inner"));
        Files.writeString(below.resolve("cgroup.procs"), Long.toString(process.pid()));
        Files.writeString(below.resolve("freezer.state"), "FROZEN");
        Files.writeString(own.resolve("freezer.state"), "FROZEN");

        assertTrue(groups.kill(name));

        assertEquals(KILLED, process.waitFor());
        groups.remove(name);
        assertFalse(Files.exists(own));
    }

    @Test
    void outOfMemoryIsCountedWhereTheTaskIs() throws Exception {
        TaskCgroups cgroups = cgroups(ROOT);
        prepared(cgroups);
        assumeTrue(cgroups.isMounted("memory"));
        Path memory = existing(cgroups).getLast();
        Files.writeString(memory.resolve("memory.limit_in_bytes"), Integer.toString(32 << 20));
        assertEquals(Observation.seen(0L), cgroups.oomKills(name));

        Process hungry = launch(existing(cgroups), "dd", "if=/dev/zero", "of=/dev/null", "bs=256M", "count=1");

        assertEquals(KILLED, hungry.waitFor());
        assertEquals(Observation.seen(1L), cgroups.oomKills(name));
    }

    private static TaskCgroups cgroups(String root) {
        TaskCgroups cgroups = new TaskCgroups(Path.of(root));
        Optional<Version> version = cgroups.version();
        assumeTrue(version.isPresent(), root + " has no control groups");
        return cgroups;
    }

    private TaskGroups prepared(TaskCgroups cgroups) {
        List<Path> parents = new ArrayList<>(cgroups.slices(false));
        cgroups.partition().ifPresent(partition -> parents.add(partition.reserve()));
        for (String controller : List.of("freezer", "cpu", "memory", "cpuset")) {
            parents.addAll(cgroups.shared(controller));
        }
        parents.stream().filter(Files::notExists).forEach(parentsMade::add);
        TaskGroups groups = new TaskGroups(cgroups, new ProcFs());
        Prepared prepared = groups.prepare(name);
        assumeTrue(prepared instanceof Prepared.Ready, prepared::toString);
        used.add(groups);
        return groups;
    }

    private List<Path> existing(TaskCgroups cgroups) {
        return cgroups.groups(name).stream().filter(Files::isDirectory).toList();
    }

    private static int pids(TaskCgroups cgroups, TaskGroupName name) {
        return switch (cgroups.look(name)) {
            case Observation.Seen<Occupancy>(Occupancy seen) ->
                seen.populated() ? seen.pids().size() : 0;
            case Observation.Unseen<Occupancy>(String why) -> throw new AssertionError(why);
        };
    }

    private int pids(TaskCgroups cgroups) {
        return pids(cgroups, name);
    }

    private Process launch(List<Path> groups, String... program) throws IOException {
        List<String> command = new ArrayList<>(List.of("/bin/sh", "-c", JOIN, "sh"));
        groups.forEach(group -> command.add(group.toString()));
        command.add("--");
        command.addAll(List.of(program));
        Process process = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .start();
        started.add(process);
        return process;
    }
}
