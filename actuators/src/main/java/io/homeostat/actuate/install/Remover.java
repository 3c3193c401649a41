package io.homeostat.actuate.install;

import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.Disk;
import io.homeostat.actuate.LocalDisk;
import io.homeostat.actuate.launch.LaunchDirectories;
import io.homeostat.actuate.launch.Sockets;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.observe.install.Installation;
import io.homeostat.observe.process.ProcFs;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Removes everything that belongs to a workload and nothing else. What leads to other things goes after them: sockets are found through
 * the installations and the notes on launches, so they go first; the symlink goes before its target.
 */
public final class Remover {
    private final Layout layout;
    private final Disk disk;
    private final Trash trash;
    private final LaunchDirectories launches;

    public Remover(Layout layout) {
        this(layout, new LocalDisk());
    }

    public Remover(Layout layout, Disk disk) {
        this.layout = layout;
        this.disk = disk;
        this.trash = new Trash(layout, disk);
        this.launches = new LaunchDirectories(layout, new ProcFs());
    }

    /**
     * Removes whatever exists of a workload that does not run: installations, symlink, sockets, state, log, notes.
     *
     * @throws ActuationFailure when something could not be removed; the rest is gone
     */
    public void remove(WorkloadId id) throws ActuationFailure {
        try {
            for (Installation installation : Trash.installations(layout, id)) {
                Sockets.delete(layout, disk, id, installation.revision());
            }
            for (String revision : launches.revisions(id)) {
                // Sockets of launches without an installation, or with one that is gone.
                Sockets.delete(layout, disk, id, revision);
            }
            // Wherever it points: the place is ours.
            if (Files.isSymbolicLink(layout.active(id))) {
                disk.delete(layout.active(id));
            }
            for (Installation installation : Trash.installations(layout, id)) {
                boolean _ = trash.take(id, installation.directory());
            }
            for (Path place : new Path[] {
                layout.logTimes(id), layout.workloadState(id), layout.stateOwners(id), layout.launches(id)
            }) {
                disk.deleteTree(place);
            }
            boolean _ = trash.empty(id);
        } catch (IOException e) {
            throw new ActuationFailure("removing " + id.brief() + " failed: " + Disk.reason(e), false, e);
        }
    }
}
