package io.homeostat.observe.process;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.VarHandle;

/**
 * System calls that Java has no class for. Each returns the kernel's result; a negative one is a negated error number. A waiting call
 * pins its thread.
 */
public final class Libc {
    static final int EPERM = 1;
    static final int ESRCH = 3;
    static final int EINTR = 4;
    static final int EINVAL = 22;
    static final int ENOSYS = 38;

    // The same on every architecture: they are younger than the common table.
    private static final long PIDFD_SEND_SIGNAL = 424;
    private static final long PIDFD_OPEN = 434;

    /** EFD_CLOEXEC | EFD_NONBLOCK, eventfd(2). */
    private static final int EVENTFD_FLAGS = 02000000 | 04000;

    /** O_RDONLY | O_CLOEXEC, open(2). */
    private static final int READ_ONLY = 02000000;

    private static final int F_SETLEASE = 1024;
    private static final int F_GETLEASE = 1025;
    private static final int F_RDLCK = 0;

    private static final int AF_UNIX = 1;
    /** SOCK_DGRAM | SOCK_CLOEXEC, socket(2). */
    private static final int DATAGRAMS = 2 | 02000000;
    /** MSG_DONTWAIT | MSG_NOSIGNAL, send(2). */
    private static final int AT_ONCE = 0x40 | 0x4000;

    private static final Linker LINKER = Linker.nativeLinker();
    private static final VarHandle ERRNO =
            Linker.Option.captureStateLayout().varHandle(MemoryLayout.PathElement.groupElement("errno"));

    private static final MethodHandle OPEN = function(
            "open", FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_INT, JAVA_INT), Linker.Option.firstVariadicArg(2));
    private static final MethodHandle FCNTL = function(
            "fcntl", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT), Linker.Option.firstVariadicArg(2));
    private static final MethodHandle CLOSE = function("close", FunctionDescriptor.of(JAVA_INT, JAVA_INT));
    private static final MethodHandle SYNCFS = function("syncfs", FunctionDescriptor.of(JAVA_INT, JAVA_INT));

    private Libc() {}

    /** The kernel's page size in bytes. */
    public static int pageSize() {
        return (int) result(errno -> (int) Memory.GETPAGESIZE.invokeExact(errno));
    }

    /** A descriptor of the process that has this pid now, pidfd_open(2), closed on exec. */
    static int pidfdOpen(long pid) {
        return (int) result(errno -> (long) Processes.SYSCALL.invokeExact(errno, PIDFD_OPEN, pid, 0L, 0L, 0L));
    }

    static int pidfdSendSignal(int descriptor, int signal) {
        return (int) result(errno -> (long)
                Processes.SYSCALL.invokeExact(errno, PIDFD_SEND_SIGNAL, (long) descriptor, (long) signal, 0L, 0L));
    }

    static int kill(long pid, int signal) {
        return (int) result(errno -> (int) Processes.KILL.invokeExact(errno, (int) pid, signal));
    }

    /** A descriptor that {@link #notify} makes readable and {@link #drain} unreadable again, closed on exec. */
    static int eventfd() {
        return (int) result(errno -> (int) Events.EVENTFD.invokeExact(errno, 0, EVENTFD_FLAGS));
    }

    static int notify(int eventfd) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment one = arena.allocateFrom(JAVA_LONG, 1L);
            return (int) result(errno -> (long) Events.WRITE.invokeExact(errno, eventfd, one, one.byteSize()));
        }
    }

    static int drain(int eventfd) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment count = arena.allocate(JAVA_LONG);
            return (int) result(errno -> (long) Events.READ.invokeExact(errno, eventfd, count, count.byteSize()));
        }
    }

    /** Waits, without a timeout, until one of these descriptors is ready, poll(2). */
    static int poll(MemorySegment descriptors, long count) {
        return (int) result(errno -> (int) Events.POLL.invokeExact(errno, descriptors, count, -1));
    }

    /** A socket for local datagrams, closed on exec. */
    static int datagramSocket() {
        return (int) result(errno -> (int) Datagrams.SOCKET.invokeExact(errno, AF_UNIX, DATAGRAMS, 0));
    }

    /** Sends without blocking; a name that begins with 0 is an abstract one. */
    static int sendTo(int descriptor, byte[] name, byte[] message) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment address = unixAddress(arena, name);
            MemorySegment content = arena.allocateFrom(JAVA_BYTE, message);
            return (int) result(errno -> (long) Datagrams.SENDTO.invokeExact(
                    errno, descriptor, content, content.byteSize(), AT_ONCE, address, (int) address.byteSize()));
        }
    }

    /** A sockaddr_un that is no longer than its name: in the abstract namespace every byte counts. */
    private static MemorySegment unixAddress(Arena arena, byte[] name) {
        MemorySegment address = arena.allocate(JAVA_SHORT.byteSize() + name.length, JAVA_SHORT.byteAlignment());
        address.set(JAVA_SHORT, 0, (short) AF_UNIX);
        MemorySegment.copy(name, 0, address, JAVA_BYTE, JAVA_SHORT.byteSize(), name.length);
        return address;
    }

    /** A descriptor to read from, closed on exec. */
    public static int open(String path) {
        return open(path, READ_ONLY, 0);
    }

    /** A descriptor by open(2); {@code mode} is of a file that is created. */
    static int open(String path, int flags, int mode) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment name = arena.allocateFrom(path);
            return (int) result(errno -> (int) OPEN.invokeExact(errno, name, flags, mode));
        }
    }

    /**
     * Takes a read lease, fcntl(2): whoever opens the file for writing waits until it is given back, at most for
     * /proc/sys/fs/lease-break-time, and this process gets SIGIO, which ends one that does not handle it.
     */
    public static int takeReadLease(int descriptor) {
        return (int) result(errno -> (int) FCNTL.invokeExact(errno, descriptor, F_SETLEASE, F_RDLCK));
    }

    /** Whether the lease is held and nobody waits for the file. */
    public static boolean holdsReadLease(int descriptor) {
        return result(errno -> (int) FCNTL.invokeExact(errno, descriptor, F_GETLEASE, 0)) == F_RDLCK;
    }

    public static int close(int descriptor) {
        return (int) result(errno -> (int) CLOSE.invokeExact(errno, descriptor));
    }

    /** Makes the whole file system of a descriptor durable, syncfs(2). */
    public static int syncfs(int descriptor) {
        return (int) result(errno -> (int) SYNCFS.invokeExact(errno, descriptor));
    }

    /** Has the kernel begin to write a part of a file to the disk, without waiting for it, sync_file_range(2). */
    public static int startWriting(int descriptor, long offset, long bytes) {
        return (int) result(
                errno -> (int) Ranges.SYNC_FILE_RANGE.invokeExact(errno, descriptor, offset, bytes, Ranges.WRITE));
    }

    // These are linked when the first of a group is used: to link one takes milliseconds, and not every process needs
    // all.

    private static final class Memory {
        static final MethodHandle GETPAGESIZE = function("getpagesize", FunctionDescriptor.of(JAVA_INT));
    }

    private static final class Processes {
        static final MethodHandle SYSCALL = function(
                "syscall",
                FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG),
                Linker.Option.firstVariadicArg(1));
        static final MethodHandle KILL = function("kill", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT));
    }

    private static final class Events {
        static final MethodHandle EVENTFD = function("eventfd", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT));
        static final MethodHandle POLL =
                function("poll", FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, JAVA_INT));
        static final MethodHandle READ =
                function("read", FunctionDescriptor.of(JAVA_LONG, JAVA_INT, ADDRESS, JAVA_LONG));
        static final MethodHandle WRITE =
                function("write", FunctionDescriptor.of(JAVA_LONG, JAVA_INT, ADDRESS, JAVA_LONG));
    }

    private static final class Datagrams {
        static final MethodHandle SOCKET =
                function("socket", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT));
        static final MethodHandle SENDTO = function(
                "sendto", FunctionDescriptor.of(JAVA_LONG, JAVA_INT, ADDRESS, JAVA_LONG, JAVA_INT, ADDRESS, JAVA_INT));
    }

    private static final class Ranges {
        static final int WRITE = 2;
        static final MethodHandle SYNC_FILE_RANGE =
                function("sync_file_range", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT));
    }

    private interface Call {
        long make(MemorySegment errno) throws Throwable;
    }

    private static long result(Call call) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment state = arena.allocate(Linker.Option.captureStateLayout());
            long result = call.make(state);
            return result < 0 ? -(int) ERRNO.get(state, 0L) : result;
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new AssertionError("a foreign function threw what it does not declare", e);
        }
    }

    private static MethodHandle function(String name, FunctionDescriptor type, Linker.Option... options) {
        Linker.Option[] all = new Linker.Option[options.length + 1];
        all[0] = Linker.Option.captureCallState("errno");
        System.arraycopy(options, 0, all, 1, options.length);
        return LINKER.downcallHandle(LINKER.defaultLookup().findOrThrow(name), type, all);
    }
}
