package io.homeostat.desired.state.sqlite;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.platform.OwnDirectory;
import io.homeostat.desired.platform.TrustedPath;
import io.homeostat.desired.state.StoreException;
import java.io.IOException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.FileChannel;
import java.nio.file.AccessDeniedException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Optional;
import java.util.Set;

/** Creates what belongs to the state directory so that nobody else can read it, not even for an instant. */
final class StateDirectory {
    private static final Set<PosixFilePermission> OWNER_ONLY = PosixFilePermissions.fromString("rw-------");

    /** 0600; the process's umask can only take bits away. */
    static final FileAttribute<Set<PosixFilePermission>> PRIVATE_FILE =
            PosixFilePermissions.asFileAttribute(OWNER_ONLY);

    /** 0700. */
    static final FileAttribute<Set<PosixFilePermission>> PRIVATE_DIRECTORY =
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));

    /** 0755. */
    private static final FileAttribute<Set<PosixFilePermission>> OPEN_DIRECTORY =
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwxr-xr-x"));

    /** How deep all of it is this user's; below, workloads have directories of their own. */
    private static final int LEVELS = 2;

    private StateDirectory() {}

    /**
     * Creates a missing directory; an existing one keeps its permissions. Missing parents follow the umask but are never writable for
     * others: they hold no secret, and workloads of other users have to pass through them.
     */
    static void create(Path directory) {
        try {
            Path parent = directory.toAbsolutePath().getParent();
            if (parent != null) {
                Files.createDirectories(parent, OPEN_DIRECTORY);
            }
            Files.createDirectories(directory, PRIVATE_DIRECTORY);
            requireOurs(directory);
        } catch (NoSuchFileException e) {
            // All above it is there, or was made a moment ago.
            throw new StoreException(
                    "cannot create the state directory " + directory + ": no directories can be made in "
                            + Path.of(e.getFile()).getParent() + "; choose another --state-dir",
                    e);
        } catch (IOException e) {
            throw failure("create the state directory", directory, e);
        }
    }

    /**
     * Where others may create what they like, somebody may have been faster than whoever makes a directory, or have shown it only after it
     * was looked for. What is in root's may be somebody else's where a backup was restored.
     *
     * @throws StoreException when what is there is not this user's alone
     */
    static void requireOurs(Path directory) {
        boolean root = TrustedPath.isRoot();
        Optional<String> problem = OwnDirectory.objectionToContent(directory.toAbsolutePath(), root);
        if (problem.isEmpty() && root) {
            problem = problemWithin(
                    directory.toAbsolutePath(),
                    LEVELS,
                    TrustedPath.ofThisProcess(ImmutableList.of()).walk());
        }
        problem.ifPresent(why -> {
            throw new StoreException("the state directory " + directory + " can't be used: " + why
                    + ", or choose another with --state-dir");
        });
    }

    private static Optional<String> problemWithin(Path directory, int levels, TrustedPath.Walk walk) {
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(directory)) {
            for (Path entry : entries) {
                Optional<String> found =
                        walk.objection(entry).map(objection -> objection.why() + "; " + objection.remedy());
                if (found.isEmpty() && levels > 1 && Files.isDirectory(entry)) {
                    found = problemWithin(entry, levels - 1, walk);
                }
                if (found.isPresent()) {
                    return found;
                }
            }
            return Optional.empty();
        } catch (NoSuchFileException e) {
            return Optional.empty();
        } catch (IOException | DirectoryIteratorException e) {
            return Optional.of(directory + " can't be looked at: " + e.getMessage() + "; repair it");
        }
    }

    /** @throws StoreException when something else is there, or it can't be seen whether there is anything */
    static void requireOneOrNone(Path directory) {
        try {
            Path there = directory.toAbsolutePath();
            while (there.getParent() != null && !Files.exists(there, LinkOption.NOFOLLOW_LINKS)) {
                there = there.getParent();
            }
            if (!Files.readAttributes(there, BasicFileAttributes.class).isDirectory()) {
                throw new FileSystemException(there.toString(), null, "Not a directory");
            }
            if (!Files.isExecutable(there)) {
                throw new AccessDeniedException(there.toString());
            }
        } catch (IOException e) {
            throw failure("read the state directory", directory, e);
        }
    }

    /** @throws FileSystemException when something else has this name: to open a pipe would be to wait for its other end */
    static void requireFileOrNothing(Path file) throws FileSystemException {
        if (Files.exists(file) && !Files.isRegularFile(file)) {
            throw new FileSystemException(
                    file.toString(), null, "it is no regular file. Move it, or choose another --state-dir");
        }
    }

    /** The same of a database and of what SQLite opens beside it. */
    static void requireFilesOrNothing(Path database) throws FileSystemException {
        requireFileOrNothing(database);
        for (String suffix : companions()) {
            requireFileOrNothing(companion(database, suffix));
        }
    }

    /** Takes from a file, restored from a backup perhaps, what others may do with it. */
    static void restrict(Path file) throws IOException {
        if (!Files.getPosixFilePermissions(file).equals(OWNER_ONLY)) {
            Files.setPosixFilePermissions(file, OWNER_ONLY);
        }
    }

    /** Makes renames in a directory survive a power cut. */
    static void sync(Path directory) throws IOException {
        try (FileChannel channel = FileChannel.open(directory, StandardOpenOption.READ)) {
            channel.force(true);
        }
    }

    /** Says what was tried on which file, why it failed and what to do. */
    static StoreException failure(String tried, Path file, IOException e) {
        String why = switch (e) {
            case AccessDeniedException denied ->
                "permission denied: " + denied.getFile()
                        + ". Run as the user it belongs to, or choose another --state-dir";
            case NoSuchFileException gone -> gone.getFile() + " does not exist";
            case FileAlreadyExistsException other ->
                other.getFile() + " is in the way. Move it, or choose another --state-dir";
            case FileSystemException other when other.getReason() != null -> other.getFile() + ": " + other.getReason();
            case ClosedByInterruptException interrupted -> "interrupted; run it again";
            default -> String.valueOf(e.getMessage());
        };
        return new StoreException("cannot " + tried + " " + file + ": " + why, e);
    }

    /** What SQLite may have beside a database; the log first: without it a database is older, with a wrong one it is ruined. */
    static ImmutableSet<String> companions() {
        return ImmutableSet.of("-wal", "-shm", "-journal");
    }

    static Path companion(Path database, String suffix) {
        return database.resolveSibling(database.getFileName() + suffix);
    }
}
