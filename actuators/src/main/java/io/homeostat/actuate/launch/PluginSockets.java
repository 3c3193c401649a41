package io.homeostat.actuate.launch;

import io.homeostat.actuate.SecureDirectories;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * The sockets of plugins. They are in a directory closed to everybody else, so that nobody can listen in a plugin's place and receive its
 * configuration. A plugin that runs as another user cannot create anything there: it listens in a directory of that user, and a symlink
 * is at the usual place.
 */
public final class PluginSockets {
    private final Layout layout;

    public PluginSockets(Layout layout) {
        this.layout = layout;
    }

    /**
     * Creates the directory, removes what an earlier process left there, and returns where the plugin has to listen.
     *
     * @param account null for our own user
     * @throws IllegalStateException when the path would be too long for a socket
     */
    Path prepare(WorkloadId id, String revision, @Nullable Account account) throws IOException {
        Path socket = layout.socket(id, revision);
        SecureDirectories.create(parent(socket), SecureDirectories.OURS);
        remove(id, revision);
        if (account == null) {
            return socket;
        }
        Path directory = userDirectory(account);
        SecureDirectories.create(directory, SecureDirectories.OURS);
        Files.setAttribute(directory, "unix:uid", account.uid(), LinkOption.NOFOLLOW_LINKS);
        Files.setAttribute(directory, "unix:gid", account.gid(), LinkOption.NOFOLLOW_LINKS);
        SecureDirectories.letThrough(layout.runDir(), directory);
        Path real = directory.resolve(socket.getFileName());
        Files.deleteIfExists(real);
        Files.createSymbolicLink(socket, real);
        return real;
    }

    /** Does nothing when there is no socket, or cannot be one. */
    public void remove(WorkloadId id, String revision) throws IOException {
        Path socket;
        try {
            socket = layout.socket(id, revision);
        } catch (IllegalStateException e) {
            // The run directory is too long for any socket, as the launch has said; undoing it must be possible.
            return;
        }
        if (Files.isSymbolicLink(socket)) {
            Files.deleteIfExists(Files.readSymbolicLink(socket));
        }
        Files.deleteIfExists(socket);
    }

    /** Not longer than the usual directory, so that paths in it are never too long. */
    private Path userDirectory(Account account) {
        return layout.runDir().resolve("u" + account.uid());
    }

    private static Path parent(Path file) {
        Path parent = file.getParent();
        if (parent == null) {
            throw new IllegalStateException(file + " is in no directory");
        }
        return parent;
    }
}
