package io.homeostat.observe.process;

import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.desired.yaml.IoReason;
import io.homeostat.observe.Observation;
import io.homeostat.observe.ObservedInstance.Liveness.Running;
import io.homeostat.observe.ObservedInstance.Loss;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;

/** Finds files that were deleted under a started process, with a few reads of directory entries and without asking the process. */
public final class LostFiles {
    private final Layout layout;
    private final LogObserver logs;

    public LostFiles(Layout layout, ProcFs procFs) {
        this.layout = layout;
        this.logs = new LogObserver(procFs);
    }

    /** The same process with what it has lost. What cannot be looked at counts as present: a wrong guess would cost a restart. */
    public Running of(Instance instance, Running running) {
        if (instance.phase() != Phase.STARTED || !(running.identity() instanceof ProcessIdentity main)) {
            return running;
        }
        Observation<Boolean> log = logs.present(
                layout.log(instance.workload()),
                new LaunchDirectory(layout.launch(instance.workload(), instance.launchId())),
                main.pid());
        if (!(log instanceof Observation.Seen<Boolean>(Boolean present)) || present) {
            return running;
        }
        ImmutableSet<Loss> lost = ImmutableSet.<Loss>builder()
                .addAll(running.lost())
                .add(Loss.LOG)
                .build();
        return new Running(
                running.identity(), running.age(), running.listening(), running.health(), lost, running.deviation());
    }

    /** Tells whether a workload's log can still be read: a process keeps writing to a deleted file without anybody noticing. */
    static final class LogObserver {
        private static final int STANDARD_OUTPUT = 1;
        private static final int STANDARD_ERROR = 2;

        /** What the kernel appends to the name of a deleted file, proc_pid_fd(5). */
        private static final String DELETED = " (deleted)";

        private final ProcFs procFs;

        LogObserver(ProcFs procFs) {
            this.procFs = procFs;
        }

        /**
         * Whether a process's log exists and is the file that it writes to. Trusted are a process that redirected its output, one whose
         * files we may not see, and a link in the log's place. A process that is about to open its log still writes to the launch's own
         * file and has lost nothing.
         *
         * @param pid of the workload's main process, which runs
         */
        Observation<Boolean> present(Path log, LaunchDirectory launch, long pid) {
            try {
                Path directory = log.toAbsolutePath().getParent();
                if (directory == null || !exists(log)) {
                    // A program whose output is read, such as a driver, writes there for good, but never its errors.
                    return Observation.seen(writes(pid, STANDARD_ERROR, real(launch.outputFile())));
                }
                // The kernel's name for it.
                String name = real(directory.resolve(log.getFileName())) + DELETED;
                return Observation.seen(!writes(pid, STANDARD_OUTPUT, name) && !writes(pid, STANDARD_ERROR, name));
            } catch (IOException e) {
                return Observation.unseen("can't see the log " + log + ": " + IoReason.withFile(e));
            }
        }

        private static boolean exists(Path log) throws IOException {
            try {
                return Files.readAttributes(log, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS) != null;
            } catch (NoSuchFileException e) {
                return false;
            }
        }

        /** The kernel's name for a file: without links on the way; the path itself when its directory is gone. */
        private static String real(Path file) throws IOException {
            Path directory = file.toAbsolutePath().getParent();
            try {
                return directory == null
                        ? file.toString()
                        : directory.toRealPath().resolve(file.getFileName()).toString();
            } catch (NoSuchFileException e) {
                return file.toString();
            }
        }

        private boolean writes(long pid, int descriptor, String name) {
            return procFs.openFile(pid, descriptor).filter(name::equals).isPresent();
        }
    }
}
