package io.homeostat.actuate;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.homeostat.observe.ProcFs;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.VarHandle;

/**
 * Sends signals to one certain process and to no other that gets its number in the meantime: the kernel is asked for a descriptor of
 * the process (pidfd_open(2)), then it is checked who that is, then the signal goes to the descriptor.
 */
final class Signals {
    static final int KILL = 9;
    static final int TERM = 15;
    static final int CONT = 18;

    // The same on every architecture: they are younger than the common table.
    private static final long PIDFD_SEND_SIGNAL = 424;
    private static final long PIDFD_OPEN = 434;

    private static final int ESRCH = 3;
    private static final int EINVAL = 22;
    private static final int ENOSYS = 38;

    private static final StructLayout STATE = Linker.Option.captureStateLayout();
    private static final VarHandle ERRNO = STATE.varHandle(MemoryLayout.PathElement.groupElement("errno"));

    private final ProcFs procFs;
    private final MethodHandle syscall;
    private final MethodHandle kill;
    private final MethodHandle close;

    Signals(ProcFs procFs) {
        this.procFs = procFs;
        Linker linker = Linker.nativeLinker();
        Linker.Option errno = Linker.Option.captureCallState("errno");
        this.syscall = linker.downcallHandle(
                linker.defaultLookup().findOrThrow("syscall"),
                FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG),
                errno,
                Linker.Option.firstVariadicArg(1));
        this.kill = linker.downcallHandle(
                linker.defaultLookup().findOrThrow("kill"), FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT), errno);
        this.close = linker.downcallHandle(
                linker.defaultLookup().findOrThrow("close"), FunctionDescriptor.of(JAVA_INT, JAVA_INT), errno);
    }

    /**
     * Sends a signal.
     *
     * @return false when the process is not there any more
     * @throws IOException when the kernel refuses, or who it is can't be seen
     */
    boolean send(long pid, long startTicks, int signal) throws IOException {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment state = arena.allocate(STATE);
            long descriptor = (long) syscall.invokeExact(state, PIDFD_OPEN, pid, 0L, 0L, 0L);
            if (descriptor < 0) {
                int error = (int) ERRNO.get(state, 0L);
                return switch (error) {
                    // EINVAL: a thread has that number now.
                    case ESRCH, EINVAL -> false;
                    // Linux before 5.3.
                    case ENOSYS -> isThere(pid, startTicks) && sendToNumber(state, pid, signal);
                    default -> throw refused("pidfd_open", pid, error);
                };
            }
            try {
                if (!isThere(pid, startTicks)) {
                    return false;
                }
                long sent = (long) syscall.invokeExact(state, PIDFD_SEND_SIGNAL, descriptor, (long) signal, 0L, 0L);
                return sent == 0 || gone("pidfd_send_signal", state, pid);
            } finally {
                int ignored = (int) close.invokeExact(state, (int) descriptor);
            }
        } catch (IOException | RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new AssertionError("a foreign call throws nothing", e);
        }
    }

    private boolean isThere(long pid, long startTicks) throws IOException {
        return procFs.stat(pid).filter(stat -> stat.startTicks() == startTicks).isPresent();
    }

    private boolean sendToNumber(MemorySegment state, long pid, int signal) throws Throwable {
        int sent = (int) kill.invokeExact(state, (int) pid, signal);
        return sent == 0 || gone("kill", state, pid);
    }

    private static boolean gone(String call, MemorySegment state, long pid) throws IOException {
        int error = (int) ERRNO.get(state, 0L);
        if (error == ESRCH) {
            return false;
        }
        throw refused(call, pid, error);
    }

    private static IOException refused(String call, long pid, int error) {
        return new IOException(call + " on process " + pid + " failed with errno " + error);
    }
}
