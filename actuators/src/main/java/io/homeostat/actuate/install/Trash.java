package io.homeostat.actuate.install;

import com.google.common.collect.ImmutableList;
import io.homeostat.actuate.Disk;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.observe.Observation;
import io.homeostat.observe.install.Installation;
import io.homeostat.observe.install.InstallationMarker;
import io.homeostat.observe.install.InstallationObserver;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Removes installations: first they become invisible, whole, by a rename into the workload's staging directory; then they are
 * deleted there. So an interrupted removal leaves no half of an installation that somebody would take for one.
 */
final class Trash {
    private static final Logger LOG = LoggerFactory.getLogger(Trash.class);

    private final Layout layout;
    private final Disk disk;

    Trash(Layout layout, Disk disk) {
        this.layout = layout;
        this.disk = disk;
    }

    /** Takes an installation of this workload away from its place; a directory that is none is left alone. */
    boolean take(WorkloadId id, String directory) throws IOException {
        Path place = layout.install(id, directory);
        Optional<InstallationMarker> marker = InstallationObserver.marker(place);
        if (marker.isEmpty() || !marker.get().id().equals(id)) {
            return false;
        }
        Path trash = layout.staging(id).resolve("trash-" + directory);
        disk.makeDirectories(layout.staging(id));
        disk.deleteTree(trash);
        disk.rename(place, trash);
        // Of the two directories the rename has synced the other one; before this, no file of it may be deleted.
        disk.syncDirectory(layout.installs(id));
        LOG.debug("[{}] takes the installation {} away", id, place);
        return true;
    }

    /** Deletes what was taken away, and whatever else an interrupted verb left there; says whether there was anything. */
    boolean empty(WorkloadId id) throws IOException {
        boolean anything = Files.exists(layout.staging(id), LinkOption.NOFOLLOW_LINKS);
        disk.deleteTree(layout.staging(id));
        return anything;
    }

    /** What is installed of a workload, looked at now. */
    static ImmutableList<Installation> installations(Layout layout, WorkloadId id) throws IOException {
        return switch (new InstallationObserver(layout).installations(id)) {
            case Observation.Seen<ImmutableList<Installation>>(ImmutableList<Installation> seen) -> seen;
            case Observation.Unseen<ImmutableList<Installation>>(String why) -> throw new IOException(why);
        };
    }

    /** Where the workload's symlink points, looked at now. */
    static Optional<String> active(Layout layout, WorkloadId id) throws IOException {
        return switch (new InstallationObserver(layout).active(id)) {
            case Observation.Seen<Optional<String>>(Optional<String> seen) -> seen;
            case Observation.Unseen<Optional<String>>(String why) -> throw new IOException(why);
        };
    }
}
