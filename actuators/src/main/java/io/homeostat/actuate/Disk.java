package io.homeostat.actuate;

import com.google.common.io.MoreFiles;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.AccessDeniedException;
import java.nio.file.AtomicMoveNotSupportedException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Locale;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The steps that change directories, each of them durable when it returns. What has to survive a crash in between is made of
 * these steps, so a test can fail each of them.
 */
class Disk {
    private static final Set<PosixFilePermission> PRIVATE_FILE = PosixFilePermissions.fromString("rw-------");

    /** Makes a directory and those above it; a symlink in the last place is not taken for one. */
    void makeDirectories(Path directory) throws IOException {
        Deque<Path> missing = new ArrayDeque<>();
        for (Path at = directory; at != null && !Files.exists(at, LinkOption.NOFOLLOW_LINKS); at = at.getParent()) {
            missing.push(at);
        }
        for (Path next : missing) {
            try {
                Files.createDirectory(next);
            } catch (FileAlreadyExistsException e) {
                // Somebody else made it at the same moment; whether it is a directory is seen below.
                continue;
            }
            syncDirectory(next.toAbsolutePath().getParent());
        }
        if (!Files.isDirectory(directory)) {
            throw new FileSystemException(directory.toString(), null, "is not a directory");
        }
    }

    /** Renames within a file system, replacing a file or symlink at the destination. */
    void rename(Path from, Path to) throws IOException {
        try {
            Files.move(from, to, StandardCopyOption.ATOMIC_MOVE);
        } catch (AtomicMoveNotSupportedException e) {
            throw new FileSystemException(from.toString(), to.toString(), "they are on different file systems");
        }
        syncDirectory(to.toAbsolutePath().getParent());
    }

    /** Deletes a file, symlink or empty directory; nothing there is fine. */
    void delete(Path path) throws IOException {
        if (Files.deleteIfExists(path)) {
            syncDirectory(path.toAbsolutePath().getParent());
        }
    }

    /** Deletes a directory when it is there and empty. */
    void deleteIfEmpty(Path directory) throws IOException {
        try {
            delete(directory);
        } catch (DirectoryNotEmptyException e) {
            return;
        }
    }

    /** Deletes a file or directory with everything in it; never follows a symlink, also not one put there meanwhile. */
    void deleteTree(Path path) throws IOException {
        if (!Files.exists(path, LinkOption.NOFOLLOW_LINKS)) {
            return;
        }
        try {
            MoreFiles.deleteRecursively(path);
        } catch (NoSuchFileException e) {
            return;
        } catch (FileSystemException e) {
            // Guava hangs what really went wrong below a general exception.
            for (Throwable each : e.getSuppressed()) {
                if (each instanceof IOException first) {
                    throw first;
                }
            }
            throw e;
        }
        syncDirectory(path.toAbsolutePath().getParent());
    }

    void symlink(Path link, String target) throws IOException {
        Files.createSymbolicLink(link, link.getFileSystem().getPath(target));
    }

    /** Replaces a small file of ours as a whole: its readers see all of it or the one before. */
    void write(Path file, byte[] content) throws IOException {
        Path fresh = file.resolveSibling(file.getFileName() + ".new");
        Files.deleteIfExists(fresh);
        try (FileChannel out = FileChannel.open(
                fresh,
                Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE),
                PosixFilePermissions.asFileAttribute(PRIVATE_FILE))) {
            Chunk.writeFully(out, content, content.length);
            out.force(true);
        }
        rename(fresh, file);
    }

    void syncDirectory(@Nullable Path directory) throws IOException {
        if (directory != null) {
            try (FileChannel channel = FileChannel.open(directory, StandardOpenOption.READ)) {
                channel.force(true);
            }
        }
    }

    /** Makes a directory with everything in it durable. */
    void syncTree(Path directory) throws IOException {
        FileSystemSync.sync(directory);
    }

    /** What an exception of the file system says, in words that a reader understands. */
    static String reason(IOException e) {
        if (e instanceof AccessDeniedException denied) {
            return denied.getFile() + ": permission denied";
        }
        if (e instanceof NoSuchFileException missing) {
            return missing.getFile() + ": no such file or directory";
        }
        if (e instanceof FileAlreadyExistsException there) {
            return there.getFile() + ": is already there";
        }
        String message = e.getMessage();
        return message == null ? e.getClass().getSimpleName() : message;
    }

    /** Whether writing failed because nothing more fits. */
    static boolean isFull(IOException e) {
        String message = String.valueOf(e.getMessage()).toLowerCase(Locale.ROOT);
        return message.contains("no space left") || message.contains("disk quota exceeded");
    }

    /** Bytes that may still be written to the file system of a path. */
    long usableBytes(Path path) {
        return path.toFile().getUsableSpace();
    }
}
