package io.homeostat.actuate;

import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.platform.MountTable.Mount;
import io.homeostat.observe.process.Account;
import io.homeostat.observe.process.Libc;
import io.homeostat.observe.process.PinnedFile;
import io.homeostat.observe.process.UserMounts;
import java.io.IOException;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Unmounts what users have mounted over the state directories and logs of their workloads, see {@link UserMounts}. */
public final class StateMounts {
    private static final Logger LOG = LoggerFactory.getLogger(StateMounts.class);

    /** More than a workload has logs, and copies of those. */
    private static final int ROUNDS = 20;

    private final Layout layout;

    public StateMounts(Layout layout) {
        this.layout = layout;
    }

    /** Unmounts those of one workload. What stays is logged: each look at the workload fails then, and says what to do. */
    public void clear(WorkloadId id) {
        try {
            if (Account.ourUid() != 0) {
                return;
            }
            for (Mount mount : UserMounts.now().overSockets(layout.runDir())) {
                int result = unmount(mount);
                LOG.warn(
                        "{} over {}, where sockets of plugins are; {}",
                        UserMounts.words(mount),
                        mount.point(),
                        result < 0 ? "it stays: " + Libc.words(-result) : "it is unmounted");
            }
            Optional<Mount> found = UserMounts.now().over(id.kind(), layout.workloadState(id));
            if (found.isEmpty()) {
                return;
            }
            String what = UserMounts.words(found.get()) + " over " + found.get().point();
            int result = 0;
            for (int round = 0; found.isPresent() && round < ROUNDS; round++) {
                result = unmount(found.get());
                found = UserMounts.now().over(id.kind(), layout.workloadState(id));
            }
            if (found.isEmpty()) {
                LOG.warn("[{}] {}, where only the agent may; it is unmounted", id.brief(), what);
            } else {
                LOG.warn(
                        "[{}] {}, and it stays: {}",
                        id.brief(),
                        what,
                        result < 0 ? Libc.words(-result) : "it comes back; end the processes of that user");
            }
        } catch (IOException e) {
            LOG.warn("[{}] what is mounted over its state is not known: {}", id.brief(), Disk.reason(e));
        }
    }

    /** The very same, whatever is mounted there by now: what root has mounted stays. Returns 0, or a negated error number. */
    private static int unmount(Mount mount) throws IOException {
        try (PinnedFile pinned = PinnedFile.of(mount.point())) {
            return pinned.mount().equals(mount.id()) ? pinned.detach() : 0;
        }
    }
}
