package io.homeostat.actuate;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import com.google.common.io.MoreFiles;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.VarHandle;
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
        if (!Files.exists(path, LinkOption.NOFOLLOW_LINKS)) {
            return;
        }
        try {
            MoreFiles.deleteRecursively(path);
        } catch (NoSuchFileException e) {
            return;
        } catch (FileSystemException e) {
            // Guava attaches the actual failures as suppressed exceptions.
            for (Throwable each : e.getSuppressed()) {
                if (each instanceof IOException first) {
                    throw first;
                }
            }
            throw e;
        }
        syncDirectory(path.toAbsolutePath().getParent());
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

    @Override
    public void syncTree(Path directory) throws IOException {
        FileSystemSync.sync(directory);
    }

    @Override
    public long usableBytes(Path path) {
        return path.toFile().getUsableSpace();
    }

    /**
     * Makes a whole file system durable with one call, syncfs(2), which is far faster than syncing the files of a large tree one by one.
     */
    private static final class FileSystemSync {
        /** Not O_DIRECTORY, whose number differs between architectures. */
        private static final int O_RDONLY_CLOEXEC = 02000000;

        private FileSystemSync() {}

        static void sync(Path directory) throws IOException {
            Linker linker = Linker.nativeLinker();
            SymbolLookup libc = linker.defaultLookup();
            Linker.Option errno = Linker.Option.captureCallState("errno");
            MethodHandle open = linker.downcallHandle(
                    libc.findOrThrow("open"),
                    FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_INT),
                    errno,
                    Linker.Option.firstVariadicArg(2));
            MethodHandle syncfs =
                    linker.downcallHandle(libc.findOrThrow("syncfs"), FunctionDescriptor.of(JAVA_INT, JAVA_INT), errno);
            MethodHandle close =
                    linker.downcallHandle(libc.findOrThrow("close"), FunctionDescriptor.of(JAVA_INT, JAVA_INT));
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment state = arena.allocate(Linker.Option.captureStateLayout());
                int fd = (int) open.invokeExact(state, arena.allocateFrom(directory.toString()), O_RDONLY_CLOEXEC);
                if (fd < 0) {
                    throw new IOException("opening " + directory + " failed with errno " + errno(state));
                }
                try {
                    if ((int) syncfs.invokeExact(state, fd) != 0) {
                        throw new IOException("writing " + directory + " to disk failed with errno " + errno(state));
                    }
                } finally {
                    int _ = (int) close.invokeExact(fd);
                }
            } catch (IOException | RuntimeException | Error e) {
                throw e;
            } catch (Throwable e) {
                throw new IllegalStateException("a foreign function threw what it does not declare", e);
            }
        }

        private static int errno(MemorySegment state) {
            VarHandle errno =
                    Linker.Option.captureStateLayout().varHandle(MemoryLayout.PathElement.groupElement("errno"));
            return (int) errno.get(state, 0L);
        }
    }
}
