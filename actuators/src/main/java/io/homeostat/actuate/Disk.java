package io.homeostat.actuate;

import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * The steps that change directories, each of them durable when it returns unless it says otherwise. Whatever has to survive a crash in between is composed of
 * these steps, so that a test can fail each of them.
 */
public interface Disk {
    /** Creates a directory and its parents. A symlink to a directory will do: somebody may have moved it to a larger disk. */
    void makeDirectories(Path directory) throws IOException;

    /** Renames within a file system, replacing a file or symlink at the destination. */
    void rename(Path from, Path to) throws IOException;

    /** Deletes a file, symlink or empty directory, if there is one. */
    void delete(Path path) throws IOException;

    /** Deletes a directory if it exists and is empty. */
    void deleteIfEmpty(Path directory) throws IOException;

    /** Deletes a file or directory with its contents. Never follows a symlink, not even one created meanwhile. */
    void deleteTree(Path path) throws IOException;

    /** Creates a symlink, which becomes durable with the next durable step in its directory. */
    void symlink(Path link, String target) throws IOException;

    /** Replaces a small file of ours as a whole: readers see either all of it or its predecessor. */
    void write(Path file, byte[] content) throws IOException;

    /** The same, but not durable: a power failure may leave the predecessor, none, or any part of it. */
    void replace(Path file, byte[] content) throws IOException;

    /** Makes the names in a directory durable; does nothing for null. */
    void syncDirectory(@Nullable Path directory) throws IOException;

    /** Makes a directory and its contents durable. */
    void syncTree(Path directory) throws IOException;

    /** Free bytes on the file system of a path. */
    long usableBytes(Path path);

    /** Describes an exception of the file system for people. */
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

    /** Whether writing failed because the disk is full. */
    static boolean isFull(IOException e) {
        String message = String.valueOf(e.getMessage()).toLowerCase(Locale.ROOT);
        return message.contains("no space left") || message.contains("disk quota exceeded");
    }
}
