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
 * Removes installations in two steps: a rename into the workload's staging directory makes one invisible as a whole, then it is deleted
 * there. So an interrupted removal never leaves half of what looks like an installation.
 */
final class Trash {
    private static final Logger LOG = LoggerFactory.getLogger(Trash.class);

    private final Layout layout;
    private final Disk disk;

    Trash(Layout layout, Disk disk) {
        this.layout = layout;
        this.disk = disk;
    }

    /** Moves an installation of this workload to the trash; a directory that is not one is left alone. */
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
        // The rename synced only the destination's directory; nothing may be deleted before the other one is.
        disk.syncDirectory(layout.installs(id));
        LOG.debug("[{}] takes the installation {} away", id, place);
        return true;
    }

    /** Deletes the trash and whatever else an interrupted verb left there; returns whether there was anything. */
    boolean empty(WorkloadId id) throws IOException {
        boolean anything = Files.exists(layout.staging(id), LinkOption.NOFOLLOW_LINKS);
        disk.deleteTree(layout.staging(id));
        return anything;
    }

    /** The installations of a workload, looked up now. */
    static ImmutableList<Installation> installations(Layout layout, WorkloadId id) throws IOException {
        return seen(new InstallationObserver(layout).installations(id));
    }

    /** The target of the workload's symlink, looked up now. */
    static Optional<String> active(Layout layout, WorkloadId id) throws IOException {
        return seen(new InstallationObserver(layout).active(id));
    }

    private static <T> T seen(Observation<T> look) throws IOException {
        return switch (look) {
            case Observation.Seen<T>(T value) -> value;
            case Observation.Unseen<T>(String why) -> throw new IOException(why);
        };
    }
}
