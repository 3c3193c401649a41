package io.homeostat.actuate.limits;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.github.benmanes.caffeine.cache.Ticker;
import io.homeostat.actuate.limits.TaskGroups.Prepared;
import io.homeostat.desired.model.Lifecycle.Limits;
import io.homeostat.observe.limits.TaskCgroups;
import io.homeostat.observe.limits.TaskGroupName;
import io.homeostat.observe.process.ProcFs;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** By groups of version 1 in plain directories; the kernel's own are in {@link RealTaskGroupsTest}. */
class ReservedCoresTest {
    private static final TaskGroupName FIRST = new TaskGroupName("a1", "first");
    private static final TaskGroupName SECOND = new TaskGroupName("a2", "second");

    @TempDir
    Path root;

    private TaskCgroups cgroups;
    private TaskGroups groups;

    @BeforeEach
    void mount() throws IOException {
        for (String controller : List.of("freezer", "cpuset")) {
            Files.writeString(Files.createDirectories(root.resolve(controller)).resolve("cgroup.procs"), "1\n");
        }
        Files.writeString(root.resolve("cpuset/cpuset.cpus"), "0-3,6\n");
        Files.writeString(root.resolve("cpuset/cpuset.mems"), "0\n");
        cgroups = new TaskCgroups(root);
        groups = groups(new PlainDirectories());
    }

    private TaskGroups groups(ControlFiles files) {
        return new TaskGroups(cgroups, new ProcFs(), files, Ticker.systemTicker());
    }

    private static Limits cores(int count) {
        return new Limits(null, null, false, false, null, count, null);
    }

    private String in(String group) throws IOException {
        return Files.readString(root.resolve("cpuset/nomad").resolve(group).resolve("cpuset.cpus"))
                .strip();
    }

    private static void ready(Prepared prepared) {
        assertInstanceOf(Prepared.Ready.class, prepared, prepared::toString);
    }

    @Test
    void whatOneTaskHasIsTakenFromAllOthersAndGivenBack() throws Exception {
        ready(groups.prepare(FIRST, cores(2)));
        ready(groups.prepare(SECOND, cores(1)));

        assertEquals("3,6", in("reserve/a1.first"));
        assertEquals("2", in("reserve/a2.second"));
        assertEquals("0-1", in("share"));
        assertEquals(Optional.of("3,6"), cgroups.processors(FIRST));
        assertEquals(cgroups.reserved(FIRST), cgroups.cpuset(FIRST));

        groups.remove(FIRST);

        assertEquals("0-1,3,6", in("share"));
        assertEquals(Optional.empty(), cgroups.processors(FIRST));
        assertEquals(Optional.of(root.resolve("cpuset/nomad/share")), cgroups.cpuset(FIRST));
        assertEquals("2", in("reserve/a2.second"));
    }

    @Test
    void whoIsPreparedAgainHasAsManyAsBefore() throws Exception {
        ready(groups.prepare(FIRST, cores(4)));
        ready(groups.prepare(FIRST, cores(4)));

        assertEquals("1-3,6", in("reserve/a1.first"));
        assertEquals("0", in("share"));
    }

    @Test
    void oneStaysWithThoseThatHaveNone() throws Exception {
        ready(groups.prepare(FIRST, cores(3)));

        Prepared.Taken taken = assertInstanceOf(Prepared.Taken.class, groups.prepare(SECOND, cores(2)));

        assertEquals(
                "it wants 2 processors for itself (limits.cores), and of the 5 processors of tasks 2 are free, and one of them"
                        + " stays with the tasks that reserve none; ask for fewer, or stop what has reserved them",
                taken.reason());
        assertEquals(Optional.empty(), cgroups.processors(SECOND));
        assertEquals("0-1", in("share"));
    }

    @Test
    void whatAnotherAgentReservesAtTheSameTimeIsLeftToIt() throws Exception {
        groups = groups(new PlainDirectories() {
            @Override
            public void write(Path file, String text) throws IOException {
                super.write(file, text);
                if (file.endsWith("reserve/a1.first/cpuset.cpus")) {
                    Path others = root.resolve("cpuset/nomad/reserve/a9.other");
                    makeGroup(others);
                    super.write(others.resolve("cpuset.cpus"), text);
                }
            }
        });

        Prepared.Taken taken = assertInstanceOf(Prepared.Taken.class, groups.prepare(FIRST, cores(1)));

        assertTrue(
                taken.reason().contains("the processors 6 were reserved by others at the same time"), taken.reason());
        assertEquals(Optional.empty(), cgroups.processors(FIRST));
        assertEquals("6", in("reserve/a9.other"));
    }

    @Test
    void whatAnAgentCouldNotGiveBackIsSharedAtTheNextStart() throws Exception {
        ready(groups.prepare(FIRST, cores(2)));
        // As after kill -9 between the removal and the rest.
        new PlainDirectories().removeGroup(cgroups.reserved(FIRST).orElseThrow());
        assertEquals("0-2", in("share"));

        ready(groups.prepare(SECOND));

        assertEquals("0-3,6", in("share"));
    }

    @Test
    void withoutCpusetsThatIsSaid() throws IOException {
        Files.delete(root.resolve("cpuset/cgroup.procs"));

        Prepared.Ready ready = assertInstanceOf(Prepared.Ready.class, groups.prepare(FIRST, cores(1)));

        assertTrue(ready.lacking().containsKey("cpuset"), ready::toString);
        assertEquals(Optional.empty(), cgroups.processors(FIRST));
    }

    @Test
    void inVersion2ItsScopeIsInTheOtherSlice() throws Exception {
        FakeControlGroups kernel = new FakeControlGroups(root.resolve("v2"), "cpuset cpu io memory pids");
        cgroups = new TaskCgroups(kernel.root);
        groups = groups(kernel);
        ready(groups.prepare(SECOND));

        ready(groups.prepare(FIRST, cores(1)));

        Path slice = kernel.root.resolve("nomad.slice");
        Path scope = slice.resolve("reserve/a1.first.scope");
        assertEquals(Optional.of(scope), cgroups.cpuset(FIRST));
        assertEquals(Optional.of("3"), cgroups.processors(FIRST));
        assertFalse(Files.exists(slice.resolve("share/a1.first.scope")));
        assertEquals("0-2\n", Files.readString(slice.resolve("share/cpuset.cpus")));
        assertEquals(Optional.of(slice.resolve("share/a2.second.scope")), cgroups.cpuset(SECOND));

        groups.remove(FIRST);

        assertFalse(Files.exists(scope));
        assertEquals("0-3\n", Files.readString(slice.resolve("share/cpuset.cpus")));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {"0-2,7 | 0-2,7", "3,1,2 | 1-3", "5 | 5", "'' | ''", " 1 , 4-5 | 1,4-5"})
    void listsOfProcessorsAreThoseOfTheKernel(String list, String text) throws IOException {
        assertEquals(text, ReservedCores.text(ReservedCores.parse(list)));
    }

    @ParameterizedTest
    @ValueSource(strings = {"a", "3-1", "-1", "1-"})
    void whatIsNoListIsSaid(String list) {
        IOException e = assertThrows(IOException.class, () -> ReservedCores.parse(list));
        assertTrue(String.valueOf(e.getMessage()).contains(list), e.getMessage());
    }
}
