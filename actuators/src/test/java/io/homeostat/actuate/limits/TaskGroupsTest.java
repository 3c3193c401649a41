package io.homeostat.actuate.limits;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.limits.TaskGroups.Prepared;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.observe.limits.CgroupLayout;
import io.homeostat.observe.limits.TaskCgroups;
import io.homeostat.observe.limits.TaskGroupName;
import io.homeostat.observe.process.ProcFs;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TaskGroupsTest {
    private static final TaskGroupName NAME = new TaskGroupName("0b7c6f3e-1d2a-4c7b-9a52-6e8f00112233", "web");

    @TempDir
    Path temp;

    @Test
    void inVersion2ControllersArePassedDownToTheScope() throws IOException {
        FakeControlGroups kernel = new FakeControlGroups(temp.resolve("cgroup"), "cpu memory pids");
        kernel.run(kernel.root, 1);

        Prepared prepared = groups(kernel.root, kernel).prepare(NAME);

        assertEquals(
                new Prepared.Ready(
                        ImmutableSortedMap.of("cpuset", CgroupLayout.NO_CONTROLLER, "io", CgroupLayout.NO_CONTROLLER)),
                prepared);
        Path scope = kernel.root.resolve("nomad.slice/share/0b7c6f3e-1d2a-4c7b-9a52-6e8f00112233.web.scope");
        assertTrue(Files.exists(scope.resolve("memory.max")), "the scope has no memory controller");
        assertTrue(Files.exists(scope.resolve("cpu.max")), "the scope has no cpu controller");

        kernel.written.clear();
        assertEquals(prepared, groups(kernel.root, kernel).prepare(NAME));
        assertEquals(List.of(), kernel.written);
    }

    @Test
    void aControllerThatTheKernelDoesNotPassDownIsNamed() throws IOException {
        FakeControlGroups kernel = new FakeControlGroups(temp.resolve("cgroup"), "cpuset cpu io memory pids");
        ControlFiles withoutMemory = new Wrapped(kernel) {
            @Override
            public void write(Path file, String text) throws IOException {
                if (text.equals("+memory")) {
                    throw new AccessDeniedException(file.toString());
                }
                super.write(file, text);
            }
        };
        Prepared.Ready ready = assertInstanceOf(
                Prepared.Ready.class, groups(kernel.root, withoutMemory).prepare(NAME));
        assertEquals(
                ImmutableSortedMap.of("memory", kernel.root.resolve("cgroup.subtree_control") + ": permission denied"),
                ready.lacking());
    }

    @Test
    void inVersion1ControllersThatAreNotMountedAreNamedAndSharedOnesFilled() throws IOException {
        Path root = temp.resolve("cgroup");
        for (String controller : List.of("memory", "cpuset")) {
            Files.writeString(Files.createDirectories(root.resolve(controller)).resolve("cgroup.procs"), "1\n");
        }
        Files.writeString(root.resolve("cpuset/cpuset.cpus"), "0-3\n");
        Files.writeString(root.resolve("cpuset/cpuset.mems"), "0\n");

        assertEquals(
                new Prepared.Ready(ImmutableSortedMap.of(
                        "freezer", CgroupLayout.NO_CONTROLLER, "cpu", CgroupLayout.NO_CONTROLLER)),
                groups(root, new PlainDirectories()).prepare(NAME));

        assertTrue(Files.isDirectory(root.resolve("memory/nomad/0b7c6f3e-1d2a-4c7b-9a52-6e8f00112233.web")));
        assertEquals("0-3", Files.readString(root.resolve("cpuset/nomad/share/cpuset.cpus")));
        assertEquals("0", Files.readString(root.resolve("cpuset/nomad/share/cpuset.mems")));

        // What somebody has chosen stays.
        Files.writeString(root.resolve("cpuset/nomad/share/cpuset.cpus"), "1\n");
        groups(root, new PlainDirectories()).prepare(NAME);
        assertEquals("1\n", Files.readString(root.resolve("cpuset/nomad/share/cpuset.cpus")));
    }

    @Test
    void whereWeMayNotWriteOrNothingIsThereIsSaid() throws IOException {
        FakeControlGroups kernel = new FakeControlGroups(temp.resolve("cgroup"), "cpu memory");
        ControlFiles refusing = new Wrapped(kernel) {
            @Override
            public void makeGroup(Path group) throws IOException {
                throw new AccessDeniedException(group.toString());
            }
        };
        String refused = assertInstanceOf(
                        Prepared.Unavailable.class,
                        groups(kernel.root, refusing).prepare(NAME))
                .reason();
        assertTrue(refused.contains("permission denied") && refused.contains("as root"), refused);

        Path empty = Files.createDirectory(temp.resolve("empty"));
        String none = assertInstanceOf(
                        Prepared.Unavailable.class, groups(empty, kernel).prepare(NAME))
                .reason();
        assertTrue(none.contains(empty.toString()) && none.contains("mount"), none);
    }

    @Test
    void whatDoesNotDieIsNamedWhenTheTimeIsOver() throws IOException {
        FakeControlGroups kernel = new FakeControlGroups(temp.resolve("cgroup"), "cpu memory");
        TaskCgroups cgroups = new TaskCgroups(kernel.root);
        AtomicLong now = new AtomicLong();
        Ticker impatient = () -> now.getAndAdd(Duration.ofSeconds(1).toNanos());
        TaskGroups groups = new TaskGroups(cgroups, new ProcFs(temp.resolve("no-process")), kernel, impatient);
        groups.prepare(NAME);
        kernel.run(cgroups.groups(NAME).getFirst(), 4711);

        ActuationFailure failure = assertThrows(ActuationFailure.class, () -> groups.kill(NAME));

        assertTrue(String.valueOf(failure.getMessage()).contains("4711"), failure.getMessage());
        assertEquals(FailureCause.Kind.UNKILLABLE, failure.failureCause().kind());
    }

    @Test
    void weNeverKillOurselves() throws IOException {
        FakeControlGroups kernel = new FakeControlGroups(temp.resolve("cgroup"), "cpu memory");
        TaskCgroups cgroups = new TaskCgroups(kernel.root);
        AtomicLong now = new AtomicLong();
        Ticker impatient = () -> now.getAndAdd(Duration.ofSeconds(1).toNanos());
        TaskGroups groups = new TaskGroups(cgroups, new ProcFs(), kernel, impatient);
        groups.prepare(NAME);
        long self = ProcessHandle.current().pid();
        kernel.run(cgroups.groups(NAME).getFirst(), self);

        ActuationFailure failure = assertThrows(ActuationFailure.class, () -> groups.kill(NAME));
        assertTrue(String.valueOf(failure.getMessage()).contains(self + " is homeostat"), failure.getMessage());
    }

    @Test
    void whereTheKernelCanKillAllAtOnceItIsAskedTo() throws Exception {
        FakeControlGroups kernel = new FakeControlGroups(temp.resolve("cgroup"), "cpu memory");
        TaskCgroups cgroups = new TaskCgroups(kernel.root);
        List<String> killed = new ArrayList<>();
        ControlFiles killing = new Wrapped(kernel) {
            @Override
            public void write(Path file, String text) throws IOException {
                if (file.endsWith("cgroup.kill")) {
                    killed.add(text);
                    kernel.run(kernel.root, 4711);
                } else {
                    super.write(file, text);
                }
            }
        };
        TaskGroups groups = groups(kernel.root, killing);
        groups.prepare(NAME);
        Path scope = cgroups.groups(NAME).getFirst();
        Files.createFile(scope.resolve("cgroup.kill"));
        kernel.run(scope, 4711);

        assertTrue(groups.kill(NAME));
        assertEquals(List.of("1"), killed);
        assertFalse(groups.kill(NAME));
    }

    @Test
    void whatCannotBeSeenIsNotTakenForDead() throws IOException {
        FakeControlGroups kernel = new FakeControlGroups(temp.resolve("cgroup"), "cpu memory");
        TaskGroups groups = groups(kernel.root, kernel);
        groups.prepare(NAME);
        Path procs = new TaskCgroups(kernel.root).groups(NAME).getFirst().resolve("cgroup.procs");
        Files.writeString(procs, "nonsense\n");

        ActuationFailure failure = assertThrows(ActuationFailure.class, () -> groups.kill(NAME));
        assertTrue(String.valueOf(failure.getMessage()).contains(procs.toString()), failure.getMessage());
    }

    private static TaskGroups groups(Path root, ControlFiles kernel) {
        return new TaskGroups(new TaskCgroups(root), new ProcFs(), kernel, Ticker.systemTicker());
    }

    private static class Wrapped implements ControlFiles {
        private final ControlFiles inner;

        Wrapped(ControlFiles inner) {
            this.inner = inner;
        }

        @Override
        public void makeGroup(Path group) throws IOException {
            inner.makeGroup(group);
        }

        @Override
        public void write(Path file, String text) throws IOException {
            inner.write(file, text);
        }

        @Override
        public void removeGroup(Path group) throws IOException {
            inner.removeGroup(group);
        }
    }
}
