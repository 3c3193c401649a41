package io.homeostat.actuate.install;

import com.google.common.collect.ImmutableList;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.Disk;
import io.homeostat.actuate.LocalDisk;
import io.homeostat.actuate.launch.Sockets;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.observe.install.Installation;
import java.io.IOException;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Removes installations that have been superseded. */
public final class GarbageCollector {
    private static final Logger LOG = LoggerFactory.getLogger(GarbageCollector.class);

    private final Layout layout;
    private final Disk disk;
    private final Trash trash;

    public GarbageCollector(Layout layout) {
        this(layout, new LocalDisk());
    }

    public GarbageCollector(Layout layout, Disk disk) {
        this.layout = layout;
        this.disk = disk;
        this.trash = new Trash(layout, disk);
    }

    /**
     * Removes what an interrupted verb left in a workload's staging directory: half an unpacking, or trashed installations that were not
     * yet deleted. No step may be under way.
     */
    public void collectLeftovers(WorkloadId id) throws ActuationFailure {
        try {
            if (trash.empty(id)) {
                LOG.info("[{}] removed what an interrupted step had left in {}", id, layout.staging(id));
            }
        } catch (IOException e) {
            throw new ActuationFailure(
                    "removing what an interrupted step of " + id.brief() + " left in " + layout.staging(id)
                            + " failed: " + Disk.reason(e),
                    false,
                    e);
        }
    }

    /**
     * Removes some installations of a workload, and what an interrupted verb left in its staging directory.
     *
     * @param directories names that are not installations of this workload are ignored
     * @throws ActuationFailure when one of them is active, or could not be removed
     */
    public void collect(WorkloadId id, ImmutableList<String> directories) throws ActuationFailure {
        String what = "removing superseded revisions of " + id.brief();
        try {
            Optional<String> active = Trash.active(layout, id);
            if (active.isPresent() && directories.contains(active.get())) {
                throw new ActuationFailure(
                        FailureCause.Kind.FILE_IN_THE_WAY,
                        what + " failed: " + active.get() + " is the active one",
                        false);
            }
            ImmutableList<Installation> installed = Trash.installations(layout, id);
            if (!installed.isEmpty()) {
                // Whoever unpacked and activated what stays may have died before that was durable.
                disk.syncDirectory(layout.installs(id));
            }
            for (Installation each : installed) {
                boolean superseded = directories.contains(each.directory());
                boolean socketIsShared = installed.stream()
                        .anyMatch(other ->
                                other.revision().equals(each.revision()) && !directories.contains(other.directory()));
                if (superseded && !socketIsShared) {
                    Sockets.delete(layout, disk, id, each.revision());
                }
                if (superseded) {
                    boolean _ = trash.take(id, each.directory());
                }
            }
            boolean _ = trash.empty(id);
        } catch (IOException e) {
            throw new ActuationFailure(what + " failed: " + Disk.reason(e), false, e);
        }
    }
}
