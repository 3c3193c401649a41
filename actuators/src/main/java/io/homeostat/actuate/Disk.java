package io.homeostat.actuate;

import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * The steps that change directories, each of them durable when it returns. What has to survive a crash in between is made of
 * these steps, so a test can fail each of them.
 */
public interface Disk {
    /** Makes a directory and those above it; a symlink to one will do, somebody may have moved it to a larger disk. */
    void makeDirectories(Path directory) throws IOException;

    /** Renames within a file system, replacing a file or symlink at the destination. */
    void rename(Path from, Path to) throws IOException;

    /** Deletes a file, symlink or empty directory; nothing there is fine. */
    void delete(Path path) throws IOException;

    /** Deletes a directory when it is there and empty. */
    void deleteIfEmpty(Path directory) throws IOException;

    /** Deletes a file or directory with everything in it; never follows a symlink, also not one put there meanwhile. */
    void deleteTree(Path path) throws IOException;

    /** Makes a symlink; it is durable when something in its directory is next made so. */
    void symlink(Path link, String target) throws IOException;

    /** Replaces a small file of ours as a whole: its readers see all of it or the one before. */
    void write(Path file, byte[] content) throws IOException;

    /** Makes durable which names are in a directory; nothing for none. */
    void syncDirectory(@Nullable Path directory) throws IOException;

    /** Makes a directory with everything in it durable. */
    void syncTree(Path directory) throws IOException;

    /** Bytes that may still be written to the file system of a path. */
    long usableBytes(Path path);

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
}
