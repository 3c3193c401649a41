package io.homeostat.actuate;

import io.homeostat.observe.process.Libc;
import io.homeostat.observe.process.PinnedFile;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.AtomicMoveNotSupportedException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The file systems of this machine. */
public final class LocalDisk implements Disk {
    @Override
    public void makeDirectories(Path directory) throws IOException {
        SecureDirectories.create(directory, SecureDirectories.OURS);
    }

    @Override
    public void rename(Path from, Path to) throws IOException {
        try {
            Files.move(from, to, StandardCopyOption.ATOMIC_MOVE);
        } catch (AtomicMoveNotSupportedException e) {
            throw new FileSystemException(from.toString(), to.toString(), "they are on different file systems");
        }
        syncDirectory(to.toAbsolutePath().getParent());
    }

    @Override
    public void delete(Path path) throws IOException {
        if (Files.deleteIfExists(path)) {
            syncDirectory(path.toAbsolutePath().getParent());
        }
    }

    @Override
    public void deleteIfEmpty(Path directory) throws IOException {
        try {
            delete(directory);
        } catch (DirectoryNotEmptyException e) {
            return;
        }
    }

    @Override
    public void deleteTree(Path path) throws IOException {
        if (PinnedFile.exists(path)) {
            HostileTree.delete(path);
            syncDirectory(path.toAbsolutePath().getParent());
        }
    }

    @Override
    public void symlink(Path link, String target) throws IOException {
        Files.createSymbolicLink(link, link.getFileSystem().getPath(target));
    }

    @Override
    public void write(Path file, byte[] content) throws IOException {
        rename(fresh(file, content, true), file);
    }

    @Override
    public void replace(Path file, byte[] content) throws IOException {
        Files.move(fresh(file, content, false), file, StandardCopyOption.ATOMIC_MOVE);
    }

    private static Path fresh(Path file, byte[] content, boolean synced) throws IOException {
        Path fresh = file.resolveSibling(file.getFileName() + ".new");
        Files.deleteIfExists(fresh);
        try (FileChannel out = FileChannel.open(
                fresh, Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE), SecureDirectories.OUR_FILE)) {
            Chunk.writeFully(out, content, content.length);
            if (synced) {
                out.force(true);
            }
        }
        return fresh;
    }

    @Override
    public void syncDirectory(@Nullable Path directory) throws IOException {
        if (directory != null) {
            SecureDirectories.sync(directory);
        }
    }

    /** With one call for the whole file system, which is far faster than syncing the files of a large tree one by one. */
    @Override
    public void syncTree(Path directory) throws IOException {
        int descriptor = Libc.open(directory.toString());
        if (descriptor < 0) {
            throw new IOException("opening " + directory + " failed with errno " + -descriptor);
        }
        int synced = Libc.syncfs(descriptor);
        int _ = Libc.close(descriptor);
        if (synced < 0) {
            throw new IOException("writing " + directory + " to disk failed with errno " + -synced);
        }
    }

    @Override
    public long usableBytes(Path path) {
        return path.toFile().getUsableSpace();
    }
}
