package io.homeostat.reconcile.agent.api;

import io.homeostat.desired.platform.TrustedPath;
import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A unix socket that only its owner can ever connect to: bound in a private directory, then moved into place. It replaces what a dead
 * process left there, but nothing that is alive or no socket.
 */
public final class PrivateSocket implements AutoCloseable {
    private final Path place;
    private final Path directory;
    private @Nullable Object ours;

    private PrivateSocket(Path place, Path directory) {
        this.place = place;
        this.directory = directory;
    }

    /**
     * Finds out whether it can be made.
     *
     * @throws IOException when the place is taken, no socket can be made there, or others could exchange it; says why
     */
    public static PrivateSocket prepare(Path place) throws IOException {
        switch (new SocketFile(place).occupant()) {
            case NOBODY, A_DEAD_PROCESS -> {}
            // Living ones are not listed under their place: they are bound elsewhere and moved there.
            case A_LISTENER, UNKNOWN -> throw new FileAlreadyExistsException(place + " is in use by another process");
            case NO_SOCKET -> throw new FileAlreadyExistsException(place + " is in the way and no socket");
        }
        Path parent = Objects.requireNonNull(place.toAbsolutePath().getParent(), "a socket needs a directory");
        Optional<TrustedPath.Objection> objection = TrustedPath.objectionOfRoot(parent);
        if (objection.isPresent()) {
            // They could lead what is done with it by its name elsewhere.
            throw new AccessDeniedException(
                    place.toString(),
                    null,
                    objection.get().why() + "; have the socket in a directory that only root can change, as in /run");
        }
        return new PrivateSocket(
                place,
                Files.createTempDirectory(
                        parent,
                        ".h",
                        PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"))));
    }

    public UnixDomainSocketAddress address() {
        return UnixDomainSocketAddress.of(directory.resolve("s"));
    }

    /** To be called when it is bound: makes it visible. */
    public void publish() throws IOException {
        Path bound = directory.resolve("s");
        Files.setPosixFilePermissions(bound, PosixFilePermissions.fromString("rw-------"));
        ours = key(bound);
        Files.move(bound, place, StandardCopyOption.ATOMIC_MOVE);
        // Now, not at the end: one that is killed would leave it behind, each time another.
        Files.deleteIfExists(directory);
    }

    private static @Nullable Object key(Path path) throws IOException {
        return Files.readAttributes(path, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS)
                .fileKey();
    }

    /** Removes what is ours, and nothing that has taken its place. */
    @Override
    public void close() throws IOException {
        Files.deleteIfExists(directory.resolve("s"));
        Files.deleteIfExists(directory);
        try {
            if (ours != null && ours.equals(key(place))) {
                Files.delete(place);
            }
        } catch (NoSuchFileException e) {
            // Somebody has removed it already.
        }
    }
}
