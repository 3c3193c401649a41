package io.homeostat.observe.process;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.platform.MountTable;
import io.homeostat.desired.platform.MountTable.Mount;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/**
 * The file systems in user space that are mounted now by users other than root and our own, fuse(4): over what of a workload's state we
 * look at, which is the state directory itself and the logs in it. The user's program would answer our look, or keep us waiting for ever, or
 * out, though we be root. So nothing here asks that program.
 *
 * <p>What else is in a state directory belongs to the workload, which may mount there what it likes.
 */
public final class UserMounts {
    /** None of them. */
    public static final UserMounts NONE = new UserMounts(ImmutableList.of());

    private static final Newest NEWEST = new Newest();

    private static final Path TABLE = Path.of("/proc/self/mountinfo");

    private final ImmutableList<Mount> mounts;

    private UserMounts(ImmutableList<Mount> mounts) {
        this.mounts = mounts;
    }

    /** Returns those that there are now. */
    public static UserMounts now() throws IOException {
        return NEWEST.read();
    }

    /** Reads the table only when it has changed: it may be long, and is asked for at every look. */
    private static final class Newest {
        private int descriptor = -1;
        private boolean known;
        private UserMounts mounts = NONE;

        synchronized UserMounts read() throws IOException {
            if (descriptor < 0) {
                descriptor = Libc.open(TABLE.toString());
            }
            // First, so that what changes while it is read is noticed the next time.
            known &= Libc.hasChanged(descriptor) == 0;
            if (!known) {
                mounts = in(TABLE, Account.ourUid());
                known = true;
            }
            return mounts;
        }
    }

    static UserMounts in(Path table, long ourUid) throws IOException {
        return new UserMounts(MountTable.ofUsers(table).stream()
                .filter(mount -> mount.mounter()
                        .filter(user -> user != 0 && user != ourUid)
                        .isPresent())
                .collect(ImmutableList.toImmutableList()));
    }

    /**
     * The one over a workload's state directory, or else over a log in it; empty where none hides what is ours.
     *
     * @param kind of the workload
     * @param state its directory; a link in the place of that is root's, who has moved it to a larger disk
     */
    public Optional<Mount> over(Kind kind, Path state) throws IOException {
        if (mounts.isEmpty()) {
            return Optional.empty();
        }
        try (PinnedFile pinned = PinnedFile.ofTarget(state)) {
            Path real = Files.readSymbolicLink(pinned.path());
            String id = pinned.mount();
            for (Mount mount : mounts) {
                if (mount.point().equals(real)
                        ? mount.id().equals(id)
                        : isLog(kind, real, mount.point()) && isOnTop(mount)) {
                    return Optional.of(mount);
                }
            }
            return Optional.empty();
        } catch (FileSystemException e) {
            // It is not there, or a link of root's that leads nowhere: whoever looks at it says so.
            return Optional.empty();
        }
    }

    /** Returns those over the directories in the run directory that users make the sockets of their plugins in. */
    public ImmutableList<Mount> overSockets(Path runDir) throws IOException {
        if (mounts.isEmpty() || !Files.exists(runDir)) {
            return ImmutableList.of();
        }
        Path real = runDir.toRealPath();
        ImmutableList.Builder<Mount> found = ImmutableList.builder();
        for (Mount mount : mounts) {
            if (real.equals(mount.point().getParent()) && isOnTop(mount)) {
                found.add(mount);
            }
        }
        return found.build();
    }

    /**
     * Returns the places at and below a directory where they are mounted.
     *
     * @param real with no links in it
     */
    public ImmutableList<Path> below(Path real) {
        return mounts.stream()
                .map(Mount::point)
                .filter(point -> point.startsWith(real))
                .collect(ImmutableList.toImmutableList());
    }

    /** Also of copies of a log. */
    private static boolean isLog(Kind kind, Path state, Path point) {
        String errors = kind.errorLog();
        String name = String.valueOf(point.getFileName());
        return state.equals(point.getParent())
                && (name.startsWith(Layout.logName(kind)) || (errors != null && name.startsWith(errors)));
    }

    /** What root has mounted over it is root's. */
    private static boolean isOnTop(Mount mount) throws IOException {
        try (PinnedFile pinned = PinnedFile.of(mount.point())) {
            return pinned.mount().equals(mount.id());
        }
    }

    /** Makes sure that there is none now over the state directory of a workload, or a log in it. */
    public static void check(Layout layout, WorkloadId id) throws IOException {
        now().check(id.kind(), layout.workloadState(id));
    }

    /**
     * As {@link #check(Layout, WorkloadId)}, of those that were read.
     *
     * @throws FileSystemException with the user, the place and the remedy
     */
    public void check(Kind kind, Path state) throws IOException {
        refuse(over(kind, state));
    }

    /**
     * Makes sure that an open file is on none of those that were read, wherever that is mounted.
     *
     * @throws FileSystemException with the user, the place and the remedy
     */
    public void check(PinnedFile open) throws IOException {
        if (!mounts.isEmpty()) {
            String id = open.mount();
            refuse(mounts.stream().filter(mount -> mount.id().equals(id)).findFirst());
        }
    }

    private static void refuse(Optional<Mount> found) throws FileSystemException {
        if (found.isPresent()) {
            Path point = found.get().point();
            throw new FileSystemException(
                    point.toString(),
                    null,
                    words(found.get()) + " over it, and says what is there; umount -l " + point);
        }
    }

    /** Who has mounted it, for people. */
    public static String words(Mount mount) {
        return "user " + mount.mounter().orElseThrow() + " has mounted a file system";
    }
}
