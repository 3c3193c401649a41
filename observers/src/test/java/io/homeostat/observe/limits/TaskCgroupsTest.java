package io.homeostat.observe.limits;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedSet;
import io.homeostat.observe.Observation;
import io.homeostat.observe.Observation.Unseen;
import io.homeostat.observe.limits.CgroupHierarchy.Version;
import io.homeostat.observe.limits.TaskCgroups.Occupancy;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TaskCgroupsTest {
    private static final String ALLOCATION = "8e0f7c3c-9f0e-4b6e-a3a5-0d6f4c1f2b7a";
    private static final TaskGroupName NAME = new TaskGroupName(ALLOCATION, "web");

    @TempDir
    Path root;

    @Test
    void inVersion1ATaskHasAGroupOfEachControllerThatIsMounted() throws IOException {
        mount("freezer", "memory", "cpuset");
        TaskCgroups cgroups = new TaskCgroups(root);

        assertEquals(Optional.of(Version.V1), cgroups.version());
        assertEquals(
                ImmutableList.of(
                        root.resolve("freezer/nomad/" + ALLOCATION + ".web"),
                        root.resolve("memory/nomad/" + ALLOCATION + ".web")),
                cgroups.groups(NAME));
        assertEquals(Optional.of(root.resolve("cpuset/nomad/share")), cgroups.cpuset(NAME));
        assertEquals(Observation.seen(Occupancy.NONE), cgroups.look(NAME));
        assertEquals(Observation.seen(0L), cgroups.oomKills(NAME));
    }

    @Test
    void inVersion2ATaskHasOneScope() throws IOException {
        Files.writeString(root.resolve("cgroup.controllers"), "cpu memory\n");
        Path scope = root.resolve("nomad.slice/share/" + ALLOCATION + ".web.scope");
        TaskCgroups cgroups = new TaskCgroups(root);

        assertEquals(Optional.of(Version.V2), cgroups.version());
        Path reserved = root.resolve("nomad.slice/reserve/" + ALLOCATION + ".web.scope");
        assertEquals(ImmutableList.of(scope, reserved), cgroups.groups(NAME));
        assertEquals(Optional.of(scope), cgroups.cpuset(NAME));
        assertEquals(Observation.seen(Occupancy.NONE), cgroups.look(NAME));
    }

    @Test
    void aMachineWithoutControlGroupsHasNoneForTasksEither() {
        TaskCgroups cgroups = new TaskCgroups(root);
        assertEquals(Optional.empty(), cgroups.version());
        assertEquals(ImmutableList.of(), cgroups.groups(NAME));
        assertEquals(Optional.empty(), cgroups.cpuset(NAME));
        assertEquals(Observation.seen(Occupancy.NONE), cgroups.look(NAME));
        assertInstanceOf(Unseen.class, cgroups.oomKills(NAME));
    }

    @Test
    void theFreezerDecidesWhoBelongsToATask() throws IOException {
        mount("freezer", "cpu", "memory");
        Path frozen = group("freezer", "31\n7\n");
        group("memory", "31\n7\n4711\n");
        TaskCgroups cgroups = new TaskCgroups(root);
        assertEquals(seen(true, 7L, 31L), cgroups.look(NAME));

        Path below = Files.createDirectory(frozen.resolve("inner"));
        Files.writeString(below.resolve("cgroup.procs"), "99\n");
        assertEquals(seen(true, 7L, 31L, 99L), cgroups.look(NAME));

        Files.writeString(below.resolve("cgroup.procs"), "");
        Files.writeString(frozen.resolve("cgroup.procs"), "");
        assertEquals(seen(false), cgroups.look(NAME));
    }

    @Test
    void withoutItsGroupInTheFreezerATaskIsWhereTheOthersAre() throws IOException {
        mount("freezer", "cpu", "memory");
        group("memory", "12\n");
        assertEquals(seen(true, 12L), new TaskCgroups(root).look(NAME));
    }

    @Test
    void inVersion2TheKernelTellsWhetherAnybodyIsThere() throws IOException {
        Path scope = scope();
        Files.writeString(scope.resolve("cgroup.procs"), "");
        Files.writeString(scope.resolve("cgroup.events"), "populated 1\nfrozen 0\n");
        TaskCgroups cgroups = new TaskCgroups(root);
        assertEquals(seen(true), cgroups.look(NAME));

        Files.writeString(scope.resolve("cgroup.procs"), "5\n");
        assertEquals(seen(true, 5L), cgroups.look(NAME));
        Files.writeString(scope.resolve("cgroup.events"), "populated 0\nfrozen 0\n");
        assertEquals(seen(false), cgroups.look(NAME));
    }

    @Test
    void outOfMemoryKillsAreCountedInEachVersion() throws IOException {
        mount("freezer", "memory");
        Path memory = group("memory", "");
        Files.writeString(memory.resolve("memory.oom_control"), "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n");
        assertEquals(Observation.seen(3L), new TaskCgroups(root).oomKills(NAME));

        Path scope = scope();
        Files.writeString(scope.resolve("memory.events"), "oom 5\noom_kill 2\noom_group_kill 0\n");
        assertEquals(Observation.seen(2L), new TaskCgroups(root).oomKills(NAME));
    }

    @Test
    void whatCannotBeSeenIsNotTakenForAbsent() throws IOException {
        mount("freezer", "cpu");
        Path frozen = group("freezer", "what\n");
        TaskCgroups cgroups = new TaskCgroups(root);
        Unseen<?> unseen = assertInstanceOf(Unseen.class, cgroups.look(NAME));
        assertTrue(unseen.why().contains(frozen.toString()), unseen.why());

        Unseen<?> uncounted = assertInstanceOf(Unseen.class, cgroups.oomKills(NAME));
        assertTrue(uncounted.why().contains("memory controller"), uncounted.why());

        mount("memory");
        group("memory", "");
        Unseen<?> unread = assertInstanceOf(Unseen.class, cgroups.oomKills(NAME));
        assertTrue(unread.why().contains("memory.oom_control"), unread.why());
    }

    @ParameterizedTest
    @ValueSource(strings = {"", " ", ".", "..", "../x", "a/b", ".hidden", "two\nlines"})
    void aNameThatLeadsElsewhereIsRefused(String name) {
        assertThrows(IllegalArgumentException.class, () -> new TaskGroupName(ALLOCATION, name));
        assertThrows(IllegalArgumentException.class, () -> new TaskGroupName(name, "web"));
    }

    @Test
    void aNameThatIsTooLongForADirectoryIsRefused() {
        int room = 255 - ALLOCATION.length() - ".".length() - ".scope".length();
        assertEquals(
                room, new TaskGroupName(ALLOCATION, "x".repeat(room)).task().length());
        assertThrows(IllegalArgumentException.class, () -> new TaskGroupName(ALLOCATION, "x".repeat(room + 1)));
    }

    private static Observation<Occupancy> seen(boolean populated, Long... pids) {
        return Observation.seen(new Occupancy(true, populated, ImmutableSortedSet.copyOf(pids)));
    }

    private void mount(String... controllers) throws IOException {
        for (String controller : controllers) {
            Files.writeString(Files.createDirectories(root.resolve(controller)).resolve("cgroup.procs"), "1\n");
        }
    }

    private Path group(String controller, String pids) throws IOException {
        Path group = Files.createDirectories(root.resolve(controller).resolve("nomad/" + ALLOCATION + ".web"));
        Files.writeString(group.resolve("cgroup.procs"), pids);
        return group;
    }

    private Path scope() throws IOException {
        Files.writeString(root.resolve("cgroup.controllers"), "cpu memory\n");
        return Files.createDirectories(root.resolve("nomad.slice/share/" + ALLOCATION + ".web.scope"));
    }
}
