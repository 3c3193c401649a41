package io.homeostat.reconcile.runtime;

import io.homeostat.actuate.limits.ControlFiles;
import io.homeostat.observe.limits.TaskCgroups;
import io.homeostat.observe.limits.TaskGroupName;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Stream;

/** Control groups of version 2 in a plain directory. Processes in them are numbers that no process has, so that nothing is signalled. */
public final class TaskControlGroups implements ControlFiles {
    /** Larger than any pid. */
    public static final long PID = 1L << 40;

    private static final String CONTROLLERS = "cpu cpuset io memory pids\n";
    private static final String PROCS = "cgroup.procs";
    private static final String EVENTS = "cgroup.events";

    /** Groups whose processes were killed. */
    public final List<Path> killed = new CopyOnWriteArrayList<>();

    /** The processors that the machine has. */
    public volatile String processors = "0-3";

    private final TaskCgroups cgroups;

    public TaskControlGroups(Path root) throws IOException {
        cgroups = new TaskCgroups(Files.createDirectories(root));
        fill(root);
    }

    public TaskCgroups cgroups() {
        return cgroups;
    }

    /** The group of a task without processors of its own. */
    public Path group(TaskGroupName name) {
        return cgroups.groups(name).getFirst();
    }

    /** Puts a process into the group of a task, which is made if need be. */
    public void enter(TaskGroupName name) throws IOException {
        Path group = group(name);
        for (Path slice : cgroups.slices(false)) {
            makeGroup(slice);
        }
        makeGroup(group);
        Files.writeString(group.resolve(PROCS), PID + "\n");
        Files.writeString(group.resolve(EVENTS), "populated 1\n");
    }

    /** Ends all processes in the group of a task. */
    public void leave(TaskGroupName name) throws IOException {
        empty(group(name));
    }

    private static void empty(Path group) throws IOException {
        Files.writeString(group.resolve(PROCS), "");
        Files.writeString(group.resolve(EVENTS), "populated 0\n");
    }

    @Override
    public void makeGroup(Path group) throws IOException {
        if (!Files.isDirectory(group)) {
            Files.createDirectory(group);
            fill(group);
        }
    }

    @Override
    public void write(Path file, String text) throws IOException {
        if (file.getFileName().toString().equals("cgroup.kill")) {
            Path group = Objects.requireNonNull(file.getParent());
            killed.add(group);
            empty(group);
            return;
        }
        Files.writeString(file, text + "\n");
    }

    @Override
    public void removeGroup(Path group) throws IOException {
        if (!Files.isDirectory(group)) {
            return;
        }
        if (!Files.readString(group.resolve(PROCS)).isEmpty()) {
            throw new FileSystemException(group.toString(), null, "Device or resource busy");
        }
        try (Stream<Path> files = Files.list(group)) {
            for (Path file : files.toList()) {
                Files.delete(file);
            }
        }
        Files.delete(group);
    }

    private void fill(Path group) throws IOException {
        Files.writeString(group.resolve("cgroup.controllers"), CONTROLLERS);
        Files.writeString(group.resolve("cgroup.subtree_control"), CONTROLLERS);
        Files.writeString(group.resolve("cgroup.kill"), "");
        Files.writeString(group.resolve("memory.max"), "max\n");
        Files.writeString(group.resolve("memory.events"), "oom_kill 0\n");
        Files.writeString(group.resolve("cpu.max"), "max 100000\n");
        Files.writeString(group.resolve("cpuset.cpus"), "\n");
        Files.writeString(group.resolve("cpuset.cpus.effective"), processors + "\n");
        empty(group);
    }
}
