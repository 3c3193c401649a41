package io.homeostat.actuate.launch;

import io.homeostat.actuate.Disk;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;

/** Deletes socket files that plugins leave behind; some do not unlink theirs. */
public final class Sockets {
    private Sockets() {}

    /** Deletes the socket of a revision that does not run; a file that is not a socket is not ours. */
    public static void delete(Layout layout, Disk disk, WorkloadId id, String revision) throws IOException {
        Path socket;
        try {
            socket = layout.socket(id, revision);
        } catch (IllegalStateException e) {
            // The run directory is too long for any socket, as the launch has said; undoing it must be possible.
            return;
        }
        try {
            BasicFileAttributes attributes =
                    Files.readAttributes(socket, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
            if (attributes.isSymbolicLink()) {
                // Points to where a plugin of another user listens, see PluginProtocol.
                Path real = Files.readSymbolicLink(socket);
                if (real.startsWith(layout.runDir()) && isSocket(real)) {
                    disk.delete(real);
                }
            }
            if (attributes.isSymbolicLink() || attributes.isOther()) {
                disk.delete(socket);
            }
        } catch (NoSuchFileException e) {
            return;
        }
    }

    /**
     * Deletes all that a driver which is removed, and what it has started, have left of sockets and temporary files. No other kind has a
     * directory in that place.
     */
    public static void deleteOfDriver(Layout layout, Disk disk, WorkloadId id) throws IOException {
        try {
            disk.deleteTree(layout.driverSockets(id));
        } catch (IllegalStateException e) {
            // There are none for the same reason.
            return;
        }
    }

    static boolean isSocket(Path path) throws IOException {
        try {
            return Files.readAttributes(path, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS)
                    .isOther();
        } catch (NoSuchFileException e) {
            return false;
        }
    }
}
