package io.homeostat.observe.files;

import io.homeostat.desired.platform.ServerRule;
import io.homeostat.desired.platform.SocketFinder;
import io.homeostat.desired.platform.SocketFinder.Found;
import io.homeostat.desired.platform.TrustedPath;
import io.homeostat.desired.platform.VirtualThreads;
import io.homeostat.desired.yaml.IoReason;
import io.homeostat.observe.process.PinnedFile;
import io.homeostat.observe.process.UserMounts;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadFactory;

/**
 * Finds the sockets of programs that run as other users, who can lead the path to a file system of theirs that never answers. Whoever connects
 * gets the socket itself, held open, and asks no such file system.
 */
public final class UserSockets {
    private static final ThreadFactory THREADS = VirtualThreads.factory("socket-");

    private UserSockets() {}

    /** Finds a socket as a {@link SocketFinder}. Fails when the path can't be followed in time, see {@link UserRights}, or leads to a file system of a user's. */
    public static CompletableFuture<Found> find(Path socket, ServerRule rule) {
        if (!TrustedPath.isRoot()) {
            return SocketFinder.DIRECT.find(socket, rule);
        }
        CompletableFuture<Found> result = new CompletableFuture<>();
        THREADS.newThread(() -> find(socket, rule, result)).start();
        return result;
    }

    private static void find(Path socket, ServerRule rule, CompletableFuture<Found> result) {
        try {
            Found _ = UserRights.ofThisMachine().with(null, socket.toString(), () -> {
                PinnedFile pinned = PinnedFile.following(socket);
                Found found = found(pinned, rule);
                if (!result.complete(found)) {
                    // It took too long, and nobody waits for it any more.
                    pinned.close();
                }
                return found;
            });
        } catch (NoSuchFileException e) {
            result.completeExceptionally(new NoSuchFileException(socket.toString(), null, "it is not there"));
        } catch (IOException e) {
            result.completeExceptionally(new IOException(socket + ": " + IoReason.of(e)));
        } catch (RuntimeException | Error e) {
            result.completeExceptionally(e);
        }
    }

    private static Found found(PinnedFile pinned, ServerRule rule) throws IOException {
        try {
            UserMounts.now().check(pinned);
            return new Found(pinned.path(), rule.look(), pinned::close);
        } catch (IOException | RuntimeException | Error e) {
            pinned.close();
            throw e;
        }
    }
}
