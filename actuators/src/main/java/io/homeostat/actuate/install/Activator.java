package io.homeostat.actuate.install;

import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.Disk;
import io.homeostat.actuate.LocalDisk;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.observe.install.InstallationMarker;
import io.homeostat.observe.install.InstallationObserver;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.Optional;

/**
 * Activates one of a workload's installations by replacing its symlink with a rename, so that there is always one; or deactivates all.
 */
public final class Activator {
    private final Layout layout;
    private final Disk disk;

    public Activator(Layout layout) {
        this(layout, new LocalDisk());
    }

    public Activator(Layout layout, Disk disk) {
        this.layout = layout;
        this.disk = disk;
    }

    /**
     * Points the workload's symlink to an installation, unless it already does. A symlink that somebody redirected is replaced.
     *
     * @throws ActuationFailure when there is no such installation, or something other than a symlink in the symlink's place
     */
    public void activate(WorkloadId id, String directory) throws ActuationFailure {
        Path link = layout.active(id);
        String what = "activating " + directory + " of " + id.brief();
        try {
            Optional<InstallationMarker> marker = InstallationObserver.marker(layout.install(id, directory));
            if (marker.isEmpty() || !marker.get().id().equals(id)) {
                throw new ActuationFailure(
                        FailureCause.Kind.FILE_MISSING,
                        what + " failed: " + layout.install(id, directory)
                                + " is not an installation of it; it has to be unpacked again",
                        false);
            }
            Optional<String> active = Trash.active(layout, id);
            if (Files.exists(link, LinkOption.NOFOLLOW_LINKS) && !Files.isSymbolicLink(link)) {
                throw new ActuationFailure(
                        FailureCause.Kind.FILE_IN_THE_WAY,
                        what + " failed: " + link
                                + " is there and is no symlink, so it is not Homeostat's; move it away",
                        false);
            }
            if (active.isPresent() && active.get().equals(directory)) {
                // Also after a crash right after the rename.
                disk.syncDirectory(layout.installs(id));
                return;
            }
            swap(id, link, directory);
        } catch (IOException e) {
            throw new ActuationFailure(what + " failed: " + Disk.reason(e), false, e);
        }
    }

    /** Removes the workload's symlink; anything else in its place is left alone. */
    public void deactivate(WorkloadId id) throws ActuationFailure {
        Path link = layout.active(id);
        try {
            if (Files.isSymbolicLink(link)) {
                disk.delete(link);
                disk.syncDirectory(layout.installs(id));
            }
        } catch (IOException e) {
            throw new ActuationFailure("removing the symlink " + link + " failed: " + Disk.reason(e), false, e);
        }
    }

    private void swap(WorkloadId id, Path link, String directory) throws IOException {
        Path fresh = layout.staging(id).resolve("link");
        disk.makeDirectories(layout.staging(id));
        disk.delete(fresh);
        disk.symlink(fresh, directory);
        disk.rename(fresh, link);
        disk.deleteIfEmpty(layout.staging(id));
    }
}
