package io.homeostat.actuate;

import com.google.common.io.MoreFiles;
import io.homeostat.observe.process.Libc;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.AtomicMoveNotSupportedException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The file systems of this machine. */
public final class LocalDisk implements Disk {
    private static final Logger LOG = LoggerFactory.getLogger(LocalDisk.class);

    /** More than anybody puts files into what is being removed. */
    private static final int ROUNDS = 20;

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
        if (!Files.exists(path, LinkOption.NOFOLLOW_LINKS)) {
            return;
        }
        try {
            // Whoever keeps a launch that has just ended still writes down how.
            for (int round = 1; !isDeleted(path, round == ROUNDS); round++) {
                LOG.debug("something came into {} while it was deleted", path);
            }
        } catch (NoSuchFileException e) {
            return;
        }
        syncDirectory(path.toAbsolutePath().getParent());
    }

    /** Whether nothing came in meanwhile, which is an error the last time. */
    private static boolean isDeleted(Path path, boolean last) throws IOException {
        try {
            MoreFiles.deleteRecursively(path);
            return true;
        } catch (NoSuchFileException e) {
            throw e;
        } catch (FileSystemException e) {
            // Guava attaches the actual failures as suppressed exceptions.
            for (Throwable each : e.getSuppressed()) {
                if (each instanceof DirectoryNotEmptyException && !last) {
                    return false;
                }
                if (each instanceof IOException first) {
                    throw first;
                }
            }
            throw e;
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
