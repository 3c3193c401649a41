package io.homeostat.actuate.task;

import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.observe.limits.TaskGroupName;
import java.nio.file.Path;
import java.util.Objects;

/**
 * Where the directories of one task are. {@link #root()} and what in it begins with a dot are ours alone; the others belong to the task,
 * which may put anything there.
 *
 * @param root the allocation's directory; its last element is the allocation's id
 * @param task the name of the task
 */
public record TaskPlace(Path root, String task) {
    private static final String SHARED = "alloc";

    /** @throws IllegalArgumentException when the allocation or the task can't have this name */
    public TaskPlace {
        if (!root.isAbsolute()) {
            throw new IllegalArgumentException("the directory of an allocation is not absolute: " + root);
        }
        if (task.equals(SHARED)) {
            throw new IllegalArgumentException("a task can't be called " + task
                    + ": the directory that the tasks of an allocation share has that name; rename it");
        }
        Objects.requireNonNull(name(root, task));
    }

    /** That of a task of ours, always the same. It is alone in its allocation, so it may have a name there that is free. */
    public static TaskPlace of(Layout layout, WorkloadId id) {
        return new TaskPlace(layout.allocation(id), id.name().equals(SHARED) ? "task-" + SHARED : id.name());
    }

    private static TaskGroupName name(Path root, String task) {
        return new TaskGroupName(String.valueOf(root.getFileName()), task);
    }

    /** The id of the allocation. */
    public String allocation() {
        return groups().allocation();
    }

    /** How its control groups are called. */
    public TaskGroupName groups() {
        return name(root, task);
    }

    /** What the tasks of the allocation share: {@code logs}, {@code tmp} and {@code data}. */
    public Path shared() {
        return root.resolve(SHARED);
    }

    /** The task directory, in which the driver keeps its notes, too. */
    public Path directory() {
        return root.resolve(task);
    }

    /** The task's own files, and what was installed for it. */
    public Path local() {
        return directory().resolve("local");
    }

    public Path secrets() {
        return directory().resolve("secrets");
    }

    /** For drivers, not for the task. */
    Path hidden() {
        return directory().resolve("private");
    }

    Path tmp() {
        return directory().resolve("tmp");
    }

    /** The shared directory within a task directory that is the task's root. */
    Path sharedInside() {
        return directory().resolve(SHARED);
    }

    /** The task directory as a task sees it to which the driver reveals it. */
    Path unveiled() {
        return revealed().resolve(allocation() + "-" + task);
    }

    /** Where the directories are that drivers reveal to tasks. */
    Path revealed() {
        return root.resolve(".mounts");
    }

    /** What is being made or thrown away: nobody but us can get in. */
    Path staging() {
        return root.resolve(".staging-" + task);
    }

    /** Says what was installed into {@link #local()}, once it is complete. */
    Path installedNote() {
        return root.resolve(".installed-" + task);
    }

    /** Says of what the chroot was made, once it is complete. */
    Path chrootNote() {
        return root.resolve(".chroot-" + task);
    }

    /** Says which network was made for the task, or was about to be. */
    public Path networkNote() {
        return root.resolve(".network-" + task);
    }
}
