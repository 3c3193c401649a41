package io.homeostat.observe;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

/** Whether what a workload writes can still be read: a process goes on writing to a file that was deleted, unseen by anybody. */
public final class LogObserver {
    private static final int STANDARD_OUTPUT = 1;
    private static final int STANDARD_ERROR = 2;

    /** What the kernel adds to the former name of a file that has none, proc_pid_fd(5). */
    private static final String DELETED = " (deleted)";

    private final Path proc;

    public LogObserver() {
        this(Path.of("/proc"));
    }

    LogObserver(Path proc) {
        this.proc = proc;
    }

    /**
     * Whether a process's log is there and is the one that it writes to. A process that has turned its output elsewhere itself, or
     * whose files we may not look at, is believed.
     *
     * @param pid of the workload's main process, which runs
     */
    public Observation<Boolean> present(Path log, long pid) {
        try {
            Path directory = log.toAbsolutePath().getParent();
            if (directory == null || !Files.isRegularFile(log, LinkOption.NOFOLLOW_LINKS)) {
                return Observation.seen(false);
            }
            // As the kernel names it.
            String name = directory.toRealPath().resolve(log.getFileName()) + DELETED;
            return Observation.seen(!writes(pid, STANDARD_OUTPUT, name) && !writes(pid, STANDARD_ERROR, name));
        } catch (NoSuchFileException e) {
            return Observation.seen(false);
        } catch (IOException e) {
            return Observation.unseen("could not look at the log " + log + ": " + e);
        }
    }

    private boolean writes(long pid, int descriptor, String name) {
        try {
            Path file = proc.resolve(Long.toString(pid)).resolve("fd").resolve(Integer.toString(descriptor));
            return Files.readSymbolicLink(file).toString().equals(name);
        } catch (IOException e) {
            // Closed, or another user's.
            return false;
        }
    }
}
