package io.homeostat.actuate.launch;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.VarHandle;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;

/**
 * A file that stays the same one, whatever is put in its place: what is asked of it or done to it by {@link #path()} goes to what
 * was opened. For directories in which somebody else can rename and link at any moment.
 */
final class Descriptor implements AutoCloseable {
    // open(2), asm-generic/fcntl.h; the one that differs is that of arm.
    private static final int O_RDWR = 02;
    private static final int O_CREAT = 0100;
    private static final int O_EXCL = 0200;
    private static final int O_CLOEXEC = 02000000;
    private static final int O_PATH = 010000000;
    private static final int O_NOFOLLOW = System.getProperty("os.arch", "").equals("aarch64") ? 0100000 : 0400000;

    private static final int OWNERS_ALONE = 0600;

    private static final int ENOENT = 2;
    private static final int EEXIST = 17;

    private static final Linker.Option ERRNO_KEPT = Linker.Option.captureCallState("errno");
    private static final VarHandle ERRNO =
            Linker.Option.captureStateLayout().varHandle(MemoryLayout.PathElement.groupElement("errno"));
    private static final MethodHandle OPEN = Linker.nativeLinker()
            .downcallHandle(
                    Linker.nativeLinker().defaultLookup().findOrThrow("open"),
                    FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_INT, JAVA_INT),
                    ERRNO_KEPT,
                    Linker.Option.firstVariadicArg(2));
    private static final MethodHandle CLOSE = Linker.nativeLinker()
            .downcallHandle(
                    Linker.nativeLinker().defaultLookup().findOrThrow("close"),
                    FunctionDescriptor.of(JAVA_INT, JAVA_INT));

    private final int number;

    private Descriptor(int number) {
        this.number = number;
    }

    /** Whatever has this name, a symbolic link itself and not what it leads to; opening it has no effect on it, also if it is a FIFO or a device. */
    static Descriptor of(Path file) throws IOException {
        return new Descriptor(open(file, O_PATH | O_NOFOLLOW | O_CLOEXEC));
    }

    /** A new and empty file for its owner alone. */
    static Descriptor create(Path file) throws IOException {
        return new Descriptor(open(file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC));
    }

    /**
     * What the file is.
     *
     * @param names how many it has in directories (hard links)
     */
    record Facts(BasicFileAttributes basic, int names, int uid, int gid) {}

    Facts facts() throws IOException {
        return new Facts(
                Files.readAttributes(path(), BasicFileAttributes.class),
                (int) Files.getAttribute(path(), "unix:nlink"),
                (int) Files.getAttribute(path(), "unix:uid"),
                (int) Files.getAttribute(path(), "unix:gid"));
    }

    /** Gives the file to somebody. */
    void own(int uid, int gid) throws IOException {
        Facts now = facts();
        // The group first: afterwards, only root still may.
        if (now.gid() != gid) {
            Files.setAttribute(path(), "unix:gid", gid);
        }
        if (now.uid() != uid) {
            Files.setAttribute(path(), "unix:uid", uid);
        }
    }

    /** Leads to the opened file as long as this is open. */
    Path path() {
        return Path.of("/proc/self/fd/" + number);
    }

    @Override
    public void close() {
        try {
            int _ = (int) CLOSE.invokeExact(number);
        } catch (Throwable e) {
            throw new AssertionError("a foreign function threw what it does not declare", e);
        }
    }

    private static int open(Path file, int flags) throws IOException {
        int opened;
        int error;
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment state = arena.allocate(Linker.Option.captureStateLayout());
            opened = (int) OPEN.invokeExact(state, arena.allocateFrom(file.toString()), flags, OWNERS_ALONE);
            error = (int) ERRNO.get(state, 0L);
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new AssertionError("a foreign function threw what it does not declare", e);
        }
        if (opened >= 0) {
            return opened;
        }
        throw switch (error) {
            case ENOENT -> new NoSuchFileException(file.toString());
            case EEXIST -> new FileAlreadyExistsException(file.toString());
            default -> new FileSystemException(file.toString(), null, "opening it failed with errno " + error);
        };
    }
}
