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
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/**
 * System calls that Java has no class for. Each returns the kernel's result; a negative one is a negated error number. A waiting call
 * pins its thread.
 */
public final class Libc {
    static final int EPERM = 1;
    static final int ESRCH = 3;
    public static final int EINTR = 4;
    public static final int EAGAIN = 11;
    static final int EINVAL = 22;
    static final int ENOSYS = 38;

    // The same on every architecture: they are younger than the common table.
    private static final long PIDFD_SEND_SIGNAL = 424;
    private static final long PIDFD_OPEN = 434;
    private static final long OPENAT2 = 437;

    /** EFD_CLOEXEC | EFD_NONBLOCK, eventfd(2). */
    private static final int EVENTFD_FLAGS = 02000000 | 04000;

    /** O_RDONLY | O_CLOEXEC, open(2). */
    private static final int READ_ONLY = 02000000;

    /** O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, open(2). */
    private static final int APPENDING = 1 | 02000 | 04000 | 0400 | 02000000;

    /** O_NONBLOCK, open(2): without it, a pipe is waited for. */
    private static final int WITHOUT_WAITING = 04000;

    private static final int F_SETSIG = 10;
    /** Ignored by whoever does not handle it, signal(7). */
    private static final int SIGURG = 23;

    private static final int F_SETLEASE = 1024;
    private static final int F_GETLEASE = 1025;
    private static final int F_RDLCK = 0;

    private static final int AF_UNIX = 1;
    /** SOCK_DGRAM | SOCK_CLOEXEC, socket(2). */
    private static final int DATAGRAMS = 2 | 02000000;
    /** MSG_DONTWAIT | MSG_NOSIGNAL, send(2). */
    private static final int AT_ONCE = 0x40 | 0x4000;

    /** AT_FDCWD, openat(2): relative names are from where this process is. */
    private static final long HERE = -100;
    /** RESOLVE_NO_MAGICLINKS, openat2(2). */
    private static final long NO_MAGIC_LINKS = 2;

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

    /** Returns the number of the calling thread, gettid(2). */
    static int gettid() {
        return (int) result(errno -> (long) Processes.SYSCALL.invokeExact(errno, Threads.GETTID, 0L, 0L, 0L, 0L));
    }

    /** Sends a signal to one thread of this process, tgkill(2). */
    static int signalThread(int thread, int signal) {
        long pid = ProcessHandle.current().pid();
        return (int) result(errno ->
                (long) Processes.SYSCALL.invokeExact(errno, Threads.TGKILL, pid, (long) thread, (long) signal, 0L));
    }

    /** Restores the default action of a signal, signal(2). A process that inherited it as ignored can handle it from then on. */
    public static int restoreDefaultAction(int signal) {
        return (int) result(errno -> (long) SignalActions.SIGNAL.invokeExact(errno, signal, SignalActions.SIG_DFL));
    }

    static int kill(long pid, int signal) {
        return (int) result(errno -> (int) Processes.KILL.invokeExact(errno, (int) pid, signal));
    }

    /** A descriptor that {@link #notify} makes readable and {@link #drain} unreadable again, closed on exec. */
    public static int eventfd() {
        return (int) result(errno -> (int) Events.EVENTFD.invokeExact(errno, 0, EVENTFD_FLAGS));
    }

    public static int notify(int eventfd) {
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

    /** Whether a file like /proc/self/mountinfo has changed since it was opened, or this was asked, proc_pid_mountinfo(5); 0 when it has not. */
    static int hasChanged(int descriptor) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment one = arena.allocate(Vsock.POLL_SIZE, JAVA_INT.byteAlignment());
            one.set(JAVA_INT, 0, descriptor);
            one.set(JAVA_SHORT, Vsock.POLL_EVENTS, Vsock.POLLPRI);
            return (int) result(errno -> (int) Events.POLL.invokeExact(errno, one, 1L, 0));
        }
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

    /** A socket for connections to virtual machines and back, closed on exec, vsock(7). */
    public static int vsockSocket() {
        return (int) result(errno -> (int) Datagrams.SOCKET.invokeExact(errno, Vsock.FAMILY, Vsock.STREAM, 0));
    }

    /** Waits until somebody has accepted, at most for the two seconds that the kernel waits. */
    public static int connectToVsock(int descriptor, int cid, int port) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment address = vsockAddress(arena, cid, port);
            return (int) result(
                    errno -> (int) Vsock.CONNECT.invokeExact(errno, descriptor, address, (int) address.byteSize()));
        }
    }

    /** Has the kernel queue up connections, for {@link #accept}. */
    public static int listenAtVsock(int descriptor, int cid, int port) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment address = vsockAddress(arena, cid, port);
            int bound = (int)
                    result(errno -> (int) Vsock.BIND.invokeExact(errno, descriptor, address, (int) address.byteSize()));
            return bound < 0
                    ? bound
                    : (int) result(errno -> (int) Vsock.LISTEN.invokeExact(errno, descriptor, Vsock.BACKLOG));
        }
    }

    private static MemorySegment vsockAddress(Arena arena, int cid, int port) {
        MemorySegment address = arena.allocate(Vsock.ADDRESS_SIZE, JAVA_INT.byteAlignment());
        address.set(JAVA_SHORT, 0, (short) Vsock.FAMILY);
        address.set(JAVA_INT, Vsock.PORT, port);
        address.set(JAVA_INT, Vsock.CID, cid);
        return address;
    }

    /** A descriptor of the next connection, closed on exec. Waits. */
    public static int accept(int descriptor) {
        return (int) result(errno -> (int)
                Vsock.ACCEPT4.invokeExact(errno, descriptor, MemorySegment.NULL, MemorySegment.NULL, Vsock.CLOEXEC));
    }

    /**
     * Returns the cid of the machine that is at the other end of a connection by vsock, getpeername(2); 0, which no machine calls from, for
     * other sockets.
     */
    public static long vsockPeer(int descriptor) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment address = vsockAddress(arena, 0, 0);
            MemorySegment size = arena.allocateFrom(JAVA_INT, (int) address.byteSize());
            long result = result(errno -> (int) Vsock.GETPEERNAME.invokeExact(errno, descriptor, address, size));
            if (result < 0) {
                return result;
            }
            return address.get(JAVA_SHORT, 0) == Vsock.FAMILY
                    ? Integer.toUnsignedLong(address.get(JAVA_INT, Vsock.CID))
                    : 0;
        }
    }

    /** Ends a connection in both directions, also for whoever waits in it, shutdown(2). */
    public static int shutdown(int descriptor) {
        return (int) result(errno -> (int) Vsock.SHUTDOWN.invokeExact(errno, descriptor, Vsock.BOTH));
    }

    /** Reads into the room of a direct buffer, whose position stays, read(2). Waits. */
    public static int readDirect(int descriptor, ByteBuffer into) {
        MemorySegment room = MemorySegment.ofBuffer(into);
        return (int) result(errno -> (long) Events.READ.invokeExact(errno, descriptor, room, room.byteSize()));
    }

    /** Sends what a direct buffer has, as much as there is room for now, else EAGAIN; its position stays, send(2). */
    public static int sendDirect(int descriptor, ByteBuffer from) {
        MemorySegment content = MemorySegment.ofBuffer(from);
        return (int)
                result(errno -> (long) Vsock.SEND.invokeExact(errno, descriptor, content, content.byteSize(), AT_ONCE));
    }

    /** Waits until one of two descriptors is ready to be read, or to be accepted from, poll(2). */
    public static int awaitInput(int one, int other) {
        return await(Vsock.POLLIN, one, other);
    }

    /** Waits until a descriptor can be written to, or never can be any more, poll(2). */
    public static int awaitOutput(int descriptor) {
        return await(Vsock.POLLOUT, descriptor);
    }

    private static int await(short event, int... descriptors) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment all = arena.allocate(descriptors.length * Vsock.POLL_SIZE, JAVA_INT.byteAlignment());
            for (int i = 0; i < descriptors.length; i++) {
                all.set(JAVA_INT, i * Vsock.POLL_SIZE, descriptors[i]);
                all.set(JAVA_SHORT, i * Vsock.POLL_SIZE + Vsock.POLL_EVENTS, event);
            }
            return poll(all, descriptors.length);
        }
    }

    /** A descriptor to read from, closed on exec. */
    public static int open(String path) {
        return open(path, READ_ONLY, 0);
    }

    /** The type of the file system of an open file, as in statfs(2); 0 when it can't be told. */
    static long fileSystemType(int descriptor) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment facts = arena.allocate(FileSystems.STATFS_SIZE);
            long result = result(errno -> (int) FileSystems.FSTATFS.invokeExact(errno, descriptor, facts));
            // A long, and on s390x, alone with the higher bytes first, an int.
            return result < 0 ? 0 : Integer.toUnsignedLong(facts.get(JAVA_INT, 0));
        }
    }

    /**
     * Gives the calling thread, and no other one, the rights of a user on files: its groups, setgroups(2), its ids for files,
     * setfsgid(2) and setfsuid(2), and no capability, capset(2). Those that are not about files would lead through /proc/PID/root into the
     * files of other users' processes.
     *
     * @return negative when that is refused; then the thread may have some of both
     */
    public static int becomeForFiles(int uid, int gid, int[] groups) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment list = arena.allocateFrom(JAVA_INT, groups);
            // The function of the C library would change all threads.
            long set = result(errno -> (long) Processes.SYSCALL.invokeExact(
                    errno, Rights.SETGROUPS_NUMBER, (long) groups.length, list.address(), 0L, 0L));
            if (set < 0) {
                return (int) set;
            }
            return becomes(Rights.SETFSGID, gid) && becomes(Rights.SETFSUID, uid) ? dropCapabilities(arena) : -EPERM;
        }
    }

    private static int dropCapabilities(Arena arena) {
        // For the calling thread: pid 0.
        MemorySegment header = arena.allocateFrom(JAVA_INT, Rights.CAPABILITY_VERSION_3, 0);
        MemorySegment none = arena.allocate(Rights.CAPABILITY_SETS_SIZE, JAVA_INT.byteAlignment());
        return (int) result(errno -> (long)
                Processes.SYSCALL.invokeExact(errno, Rights.CAPSET_NUMBER, header.address(), none.address(), 0L, 0L));
    }

    /** These return the former id, whether it was changed or not; for one that can't be, the present one. */
    private static boolean becomes(MethodHandle set, int id) {
        long _ = result(errno -> (int) set.invokeExact(errno, id));
        return (int) result(errno -> (int) set.invokeExact(errno, -1)) == id;
    }

    /** A descriptor that appends, closed on exec. Of a pipe it is never waited for: without a reader this is ENXIO. */
    static int openToAppend(String path) {
        return open(path, APPENDING, 0);
    }

    /** Writes what a buffer has, as much as there is room for, write(2). */
    static int write(int descriptor, ByteBuffer bytes) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment copy = arena.allocate(bytes.remaining());
            copy.copyFrom(MemorySegment.ofBuffer(bytes));
            return (int) result(errno -> (long) Events.WRITE.invokeExact(errno, descriptor, copy, copy.byteSize()));
        }
    }

    /** Reads into a buffer's room, read(2). Waits. */
    static int read(int descriptor, ByteBuffer into) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment copy = arena.allocate(into.remaining());
            int length =
                    (int) result(errno -> (long) Events.READ.invokeExact(errno, descriptor, copy, copy.byteSize()));
            if (length > 0) {
                into.put(copy.asSlice(0, length).asByteBuffer());
            }
            return length;
        }
    }

    /** A descriptor by open(2); {@code mode} is of a file that is created. */
    static int open(String path, int flags, int mode) {
        return open(path.getBytes(StandardCharsets.UTF_8), flags, mode);
    }

    /** Opens a file as {@link #open(String, int, int)} does, by the bytes of its path. */
    static int open(byte[] path, int flags, int mode) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment name = name(arena, path);
            return (int) result(errno -> (int) OPEN.invokeExact(errno, name, flags, mode));
        }
    }

    /** Copies a path and ends it with a zero, which is there already. */
    private static MemorySegment name(Arena arena, byte[] path) {
        MemorySegment name = arena.allocate(path.length + 1L);
        MemorySegment.copy(path, 0, name, JAVA_BYTE, 0, path.length);
        return name;
    }

    /** Opens a file as {@link #open(byte[], int, int)} does, but fails with ELOOP where a link of /proc leads that names no file, openat2(2); with ENOSYS before Linux 5.6. */
    static int openWithoutMagicLinks(byte[] path, int flags) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment name = name(arena, path);
            MemorySegment how = arena.allocateFrom(JAVA_LONG, flags, 0, NO_MAGIC_LINKS);
            return (int) result(errno -> (long)
                    Processes.SYSCALL.invokeExact(errno, OPENAT2, HERE, name.address(), how.address(), how.byteSize()));
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

    /**
     * Whether nobody has a file open for writing, as the kernel knows who grants a read lease only then. It is given back at once, and
     * SIGIO is never sent for it. False also when that cannot be known: of another user's file, or on a file system without leases.
     */
    public static boolean hasNoWriter(String path) {
        int descriptor = open(path, READ_ONLY | WITHOUT_WAITING, 0);
        if (descriptor < 0) {
            return false;
        }
        boolean granted = result(errno -> (int) FCNTL.invokeExact(errno, descriptor, F_SETSIG, SIGURG)) == 0
                && takeReadLease(descriptor) == 0;
        int _ = close(descriptor);
        return granted;
    }

    public static int close(int descriptor) {
        return (int) result(errno -> (int) CLOSE.invokeExact(errno, descriptor));
    }

    /** Makes the whole file system of a descriptor durable, syncfs(2). */
    public static int syncfs(int descriptor) {
        return (int) result(errno -> (int) SYNCFS.invokeExact(errno, descriptor));
    }

    /**
     * Mounts something over a directory, mount(2). A link at the end of its name is followed.
     *
     * @param flags as in sys/mount.h
     * @param options of the file system
     */
    public static int mount(String source, String directory, String type, long flags, String options) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment from = arena.allocateFrom(source);
            MemorySegment onto = arena.allocateFrom(directory);
            MemorySegment named = arena.allocateFrom(type);
            MemorySegment with = arena.allocateFrom(options);
            return (int) result(errno -> (int) Mounts.MOUNT.invokeExact(errno, from, onto, named, flags, with));
        }
    }

    /** Takes what is mounted at a directory away at once, whoever uses it, umount2(2). A link at the end of its name is not followed. */
    public static int detach(String directory) {
        return detach(directory, Mounts.DETACH | Mounts.NO_LINK);
    }

    /** As {@link #detach}, of the very mount whose root is open, whatever its name leads to by now. */
    static int detachOpen(int descriptor) {
        return detach("/proc/self/fd/" + descriptor, Mounts.DETACH);
    }

    private static int detach(String directory, int flags) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment name = arena.allocateFrom(directory);
            return (int) result(errno -> (int) Mounts.UMOUNT2.invokeExact(errno, name, flags));
        }
    }

    /**
     * Gives the calling thread a new network namespace, in which there is nothing but lo, unshare(2). Not for a virtual thread, whose
     * carrier would go on with it.
     */
    public static int unshareNetwork() {
        return (int) result(errno -> (int) Namespaces.UNSHARE.invokeExact(errno, Namespaces.NETWORK));
    }

    /** What an error number means, strerror(3). */
    public static String words(int error) {
        try {
            MemorySegment text = (MemorySegment) Mounts.STRERROR.invokeExact(error);
            return text.reinterpret(Mounts.LONGEST).getString(0);
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new AssertionError("a foreign function threw what it does not declare", e);
        }
    }

    /** Has the kernel begin to write a part of a file to the disk, without waiting for it, sync_file_range(2). */
    public static int startWriting(int descriptor, long offset, long bytes) {
        return (int) result(
                errno -> (int) Ranges.SYNC_FILE_RANGE.invokeExact(errno, descriptor, offset, bytes, Ranges.WRITE));
    }

    /** Where data begins at or after an offset, lseek(2). */
    static long seekData(int descriptor, long offset) {
        return result(errno -> (long) Holes.LSEEK.invokeExact(errno, descriptor, offset, Holes.SEEK_DATA));
    }

    /** Where a hole, or the end, begins at or after an offset. */
    static long seekHole(int descriptor, long offset) {
        return result(errno -> (long) Holes.LSEEK.invokeExact(errno, descriptor, offset, Holes.SEEK_HOLE));
    }

    /** Gives a part of a file back to the disk and keeps its size, fallocate(2). */
    static int punchHole(int descriptor, long offset, long bytes) {
        return (int) result(errno -> (int) Holes.FALLOCATE.invokeExact(errno, descriptor, Holes.PUNCH, offset, bytes));
    }

    /** How a terminal treats what is typed, termios(3), as an opaque structure. */
    static int terminalMode(int descriptor, MemorySegment mode) {
        return (int) result(errno -> (int) Terminals.TCGETATTR.invokeExact(errno, descriptor, mode));
    }

    /** Changes it at once. */
    static int setTerminalMode(int descriptor, MemorySegment mode) {
        return (int) result(errno -> (int) Terminals.TCSETATTR.invokeExact(errno, descriptor, 0, mode));
    }

    /** Makes it one in which every byte comes as it is typed. */
    static void makeRaw(MemorySegment mode) {
        long _ = result(errno -> {
            Terminals.CFMAKERAW.invokeExact(errno, mode);
            return 0;
        });
    }

    /** Rows and columns, two shorts, tty_ioctl(4). */
    static int terminalSize(int descriptor, MemorySegment size) {
        return ioctl(descriptor, Terminals.TIOCGWINSZ, size);
    }

    /** The end of a new pseudo-terminal that is not the terminal itself, closed on exec. */
    static int openTerminal() {
        return open("/dev/ptmx", Terminals.MASTER, 0);
    }

    /** Lets it be opened and returns its number, ioctl_tty(2). */
    static int unlockTerminal(int master) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment number = arena.allocate(JAVA_INT);
            int result = ioctl(master, Terminals.TIOCSPTLCK, number);
            if (result >= 0) {
                result = ioctl(master, Terminals.TIOCGPTN, number);
            }
            return result < 0 ? result : number.get(JAVA_INT, 0);
        }
    }

    static int resizeTerminal(int master, int rows, int columns) {
        try (Arena arena = Arena.ofConfined()) {
            return ioctl(
                    master,
                    Terminals.TIOCSWINSZ,
                    arena.allocateFrom(JAVA_SHORT, (short) rows, (short) columns, (short) 0, (short) 0));
        }
    }

    private static int ioctl(int descriptor, long request, MemorySegment argument) {
        return (int) result(errno -> (int) Terminals.IOCTL.invokeExact(errno, descriptor, request, argument));
    }

    // These are linked when the first of a group is used: to link one takes milliseconds, and not every process needs
    // all.

    /** Returns the number of a system call in the table of the architecture: those that Java runs on, and the table that younger ones share. */
    private static long number(long amd64, long ppc64le, long s390x, long common) {
        return switch (System.getProperty("os.arch", "")) {
            case "amd64" -> amd64;
            case "ppc64le" -> ppc64le;
            case "s390x" -> s390x;
            default -> common;
        };
    }

    private static final class Threads {
        static final long GETTID = number(186, 207, 236, 178);
        static final long TGKILL = number(234, 250, 241, 131);
    }

    private static final class Rights {
        static final MethodHandle SETFSUID = function("setfsuid", FunctionDescriptor.of(JAVA_INT, JAVA_INT));
        static final MethodHandle SETFSGID = function("setfsgid", FunctionDescriptor.of(JAVA_INT, JAVA_INT));

        static final long SETGROUPS_NUMBER = number(116, 81, 206, 159);
        static final long CAPSET_NUMBER = number(126, 184, 185, 91);

        static final int CAPABILITY_VERSION_3 = 0x20080522;

        /** Twice the effective, permitted and inheritable ones, of 32 bits each. */
        static final long CAPABILITY_SETS_SIZE = 24;
    }

    private static final class FileSystems {
        static final MethodHandle FSTATFS = function("fstatfs", FunctionDescriptor.of(JAVA_INT, JAVA_INT, ADDRESS));

        /** That of a struct statfs is 120 bytes or less. */
        static final long STATFS_SIZE = 256;
    }

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

    private static final class SignalActions {
        static final long SIG_DFL = 0;
        static final MethodHandle SIGNAL = function("signal", FunctionDescriptor.of(JAVA_LONG, JAVA_INT, JAVA_LONG));
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

    private static final class Vsock {
        static final int FAMILY = 40;
        static final int CLOEXEC = 02000000;
        /** SOCK_STREAM | SOCK_CLOEXEC. */
        static final int STREAM = 1 | CLOEXEC;
        /** SHUT_RDWR. */
        static final int BOTH = 2;

        static final int BACKLOG = 16;

        // Of sockaddr_vm and pollfd.
        static final long ADDRESS_SIZE = 16;
        static final long PORT = 4;
        static final long CID = 8;
        static final long POLL_SIZE = 8;
        static final long POLL_EVENTS = 4;
        static final short POLLIN = 1;
        static final short POLLPRI = 2;
        static final short POLLOUT = 4;

        static final MethodHandle CONNECT =
                function("connect", FunctionDescriptor.of(JAVA_INT, JAVA_INT, ADDRESS, JAVA_INT));
        static final MethodHandle BIND = function("bind", FunctionDescriptor.of(JAVA_INT, JAVA_INT, ADDRESS, JAVA_INT));
        static final MethodHandle LISTEN = function("listen", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT));
        static final MethodHandle ACCEPT4 =
                function("accept4", FunctionDescriptor.of(JAVA_INT, JAVA_INT, ADDRESS, ADDRESS, JAVA_INT));
        static final MethodHandle GETPEERNAME =
                function("getpeername", FunctionDescriptor.of(JAVA_INT, JAVA_INT, ADDRESS, ADDRESS));
        static final MethodHandle SHUTDOWN = function("shutdown", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT));
        static final MethodHandle SEND =
                function("send", FunctionDescriptor.of(JAVA_LONG, JAVA_INT, ADDRESS, JAVA_LONG, JAVA_INT));
    }

    private static final class Terminals {
        /** O_RDWR | O_NOCTTY | O_CLOEXEC, open(2). */
        static final int MASTER = 2 | 0400 | 02000000;

        static final long TIOCSPTLCK = 0x40045431L;
        static final long TIOCGPTN = 0x80045430L;
        static final long TIOCSWINSZ = 0x5414L;
        static final long TIOCGWINSZ = System.getProperty("os.arch").startsWith("ppc64") ? 0x40087468L : 0x5413L;

        static final MethodHandle TCGETATTR = function("tcgetattr", FunctionDescriptor.of(JAVA_INT, JAVA_INT, ADDRESS));
        static final MethodHandle TCSETATTR =
                function("tcsetattr", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT, ADDRESS));
        static final MethodHandle CFMAKERAW = function("cfmakeraw", FunctionDescriptor.ofVoid(ADDRESS));
        static final MethodHandle IOCTL = function(
                "ioctl",
                FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG, ADDRESS),
                Linker.Option.firstVariadicArg(2));
    }

    private static final class Mounts {
        /** MNT_DETACH. */
        static final int DETACH = 2;

        /** UMOUNT_NOFOLLOW. */
        static final int NO_LINK = 8;

        static final long LONGEST = 1024;

        static final MethodHandle MOUNT =
                function("mount", FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, ADDRESS, JAVA_LONG, ADDRESS));
        static final MethodHandle UMOUNT2 = function("umount2", FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_INT));
        static final MethodHandle STRERROR = LINKER.downcallHandle(
                LINKER.defaultLookup().findOrThrow("strerror"), FunctionDescriptor.of(ADDRESS, JAVA_INT));
    }

    private static final class Namespaces {
        /** CLONE_NEWNET. */
        static final int NETWORK = 0x40000000;

        static final MethodHandle UNSHARE = function("unshare", FunctionDescriptor.of(JAVA_INT, JAVA_INT));
    }

    private static final class Ranges {
        static final int WRITE = 2;
        static final MethodHandle SYNC_FILE_RANGE =
                function("sync_file_range", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT));
    }

    private static final class Holes {
        static final int SEEK_DATA = 3;
        static final int SEEK_HOLE = 4;
        /** FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE. */
        static final int PUNCH = 1 | 2;

        static final MethodHandle LSEEK =
                function("lseek", FunctionDescriptor.of(JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_INT));
        static final MethodHandle FALLOCATE =
                function("fallocate", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_LONG));
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
