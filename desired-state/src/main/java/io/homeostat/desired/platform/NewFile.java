package io.homeostat.desired.platform;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import com.google.common.collect.ImmutableList;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.invoke.MethodHandle;
import java.nio.channels.FileChannel;
import java.nio.file.AccessDeniedException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.FileSystemLoopException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A file that is written under another name before it gets its own. It may be in a directory of another user, who can put anything into the
 * place of all that is named on the way there, at any time: so the directory is opened once, and all is done in what was opened.
 */
public final class NewFile implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(NewFile.class);

    /** For who creates it alone. */
    public static final Set<PosixFilePermission> OURS = PosixFilePermissions.fromString("rw-------");

    /** O_PATH | O_DIRECTORY | O_CLOEXEC, open(2). */
    private static final int DIRECTORY = 010000000 | 0200000 | 02000000;

    /** The number of links in a path that the kernel follows. */
    private static final int MOST_LINKS = 40;

    private static final MethodHandle OPEN = function("open", FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_INT));
    private static final MethodHandle CLOSE = function("close", FunctionDescriptor.of(JAVA_INT, JAVA_INT));

    private final int descriptor;
    private final Path directory;
    private final Path part;
    private Path file;
    private Path place;

    private NewFile(Path file, int descriptor) {
        this.file = file;
        this.descriptor = descriptor;
        this.directory = Path.of("/proc/self/fd", Integer.toString(descriptor));
        this.part = directory.resolve("." + file.getFileName() + "." + UUID.randomUUID() + ".part");
        this.place = directory.resolve(file.getFileName());
    }

    /**
     * Opens the directory of a file.
     *
     * @throws IOException when there is none, or a link of another user leads root to it
     */
    public static NewFile of(Path file) throws IOException {
        Path directory =
                Objects.requireNonNull(file.toAbsolutePath().normalize().getParent(), "a file");
        int opened;
        try (Arena arena = Arena.ofConfined()) {
            opened = (int) OPEN.invokeExact(arena.allocateFrom(directory.toString()), DIRECTORY);
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new AssertionError("a foreign function threw what it does not declare", e);
        }
        if (opened < 0) {
            // This says why.
            try (DirectoryStream<Path> _ = Files.newDirectoryStream(directory)) {
                throw new NoSuchFileException(directory.toString());
            }
        }
        NewFile result = new NewFile(file, opened);
        boolean trusted = false;
        try {
            Path real = Files.readSymbolicLink(result.directory);
            trusted = real.equals(directory) || !TrustedPath.isRoot() || real.equals(meant(directory));
            if (!trusted) {
                throw new FileSystemException(
                        directory.toString(),
                        null,
                        "it is " + real + ", by a link that others can change; if that is right, name it so");
            }
            return result;
        } finally {
            if (!trusted) {
                result.close();
            }
        }
    }

    /**
     * Resolves a path without the links that others can change: a name in a directory of theirs counts as no link, whatever it is by now.
     */
    private static Path meant(Path path) throws IOException {
        Deque<Path> names = new ArrayDeque<>();
        path.forEach(names::add);
        Path at = path.getRoot();
        for (int links = 0; !names.isEmpty(); ) {
            Path next = at.resolve(names.removeFirst()).normalize();
            if (!Files.isSymbolicLink(next) || TrustedPath.objectionOfRoot(at).isPresent()) {
                at = next;
            } else if (++links > MOST_LINKS) {
                throw new FileSystemLoopException(path.toString());
            } else {
                Path target = at.resolve(Files.readSymbolicLink(next));
                at = path.getRoot();
                List<Path> all = ImmutableList.copyOf(target);
                all.reversed().forEach(names::addFirst);
            }
        }
        return at;
    }

    /** Has it get another name in its directory than the one that it was made for. */
    public void rename(String name) {
        file = file.resolveSibling(name);
        place = place.resolveSibling(name);
    }

    /** Returns where the file is written before it has its name. */
    public Path part() {
        return part;
    }

    /** The directory that it gets its name in, as long as this is open. */
    public Path directory() {
        return directory;
    }

    /**
     * Creates it, and opens it for writing. Who else may read it is said here and never changed: by its name, whatever has taken its place
     * would be opened to others.
     *
     * @param permissions what the umask leaves of them
     */
    public FileChannel create(Set<PosixFilePermission> permissions) throws IOException {
        try {
            return FileChannel.open(
                    part,
                    Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE),
                    PosixFilePermissions.asFileAttribute(permissions));
        } catch (FileSystemException e) {
            throw named(e);
        }
    }

    /** Gives it its name, in the place of what may have it. */
    public void replace() throws IOException {
        try {
            Files.move(part, place, StandardCopyOption.ATOMIC_MOVE);
        } catch (FileSystemException e) {
            throw named(e);
        }
    }

    /**
     * Gives it its name.
     *
     * @throws FileAlreadyExistsException when something has it
     */
    public void add() throws IOException {
        try {
            Files.createLink(place, part);
            Files.delete(part);
        } catch (FileAlreadyExistsException e) {
            throw named(e);
        } catch (FileSystemException e) {
            // Not every file system has links, such as those of memory cards.
            LOG.debug("{} is renamed", file, e);
            try {
                Files.move(part, place);
            } catch (FileSystemException failed) {
                throw named(failed);
            }
        }
    }

    /** Warns when the umask has kept others from it, for whom it was created. */
    public void warnIfClosed(Set<PosixFilePermission> permissions) throws IOException {
        Set<PosixFilePermission> left = Files.getPosixFilePermissions(place);
        if (!left.containsAll(permissions)) {
            LOG.warn(
                    "{} has the permissions {} instead of {}, because of the umask; chmod it, or set umask 022",
                    file,
                    PosixFilePermissions.toString(left),
                    PosixFilePermissions.toString(permissions));
        }
    }

    /** Returns the same failure with the name that people know. */
    private FileSystemException named(FileSystemException e) {
        FileSystemException named = switch (e) {
            case FileAlreadyExistsException _ -> new FileAlreadyExistsException(file.toString());
            case NoSuchFileException _ -> new NoSuchFileException(file.toString());
            case AccessDeniedException _ -> new AccessDeniedException(file.toString());
            default -> new FileSystemException(file.toString(), null, e.getReason());
        };
        named.initCause(e);
        return named;
    }

    /** Deletes what has not got its name. */
    @Override
    public void close() throws IOException {
        try {
            Files.deleteIfExists(part);
        } finally {
            close(descriptor);
        }
    }

    private static void close(int descriptor) {
        try {
            int _ = (int) CLOSE.invokeExact(descriptor);
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new AssertionError("a foreign function threw what it does not declare", e);
        }
    }

    private static MethodHandle function(String name, FunctionDescriptor type) {
        return Linker.nativeLinker()
                .downcallHandle(Linker.nativeLinker().defaultLookup().findOrThrow(name), type);
    }
}
