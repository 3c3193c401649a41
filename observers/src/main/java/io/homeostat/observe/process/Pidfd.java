package io.homeostat.observe.process;

import java.io.IOException;
import java.util.Optional;

/**
 * A handle on one particular process that stays valid when its pid is reused: it is opened by pid (pidfd_open(2)), and then the identity
 * of the process is checked. Not thread-safe.
 */
public final class Pidfd implements AutoCloseable {
    private final long pid;
    private int descriptor;

    private Pidfd(long pid, int descriptor) {
        this.pid = pid;
        this.descriptor = descriptor;
    }

    /** The result of opening one. */
    public sealed interface Opened {
        /** The caller has to close it. */
        record Open(Pidfd pidfd) implements Opened {}

        /** The process is gone. */
        record Gone() implements Opened {}

        /** This machine has no pidfds: Linux before 5.3, or a sandbox that forbids them. */
        record Unsupported(String why) implements Opened {}
    }

    /**
     * Why this kernel has no pidfd_open(2) for us (Linux before 5.3, or a filter of system calls); empty when it has. Opens and closes a
     * descriptor of this process.
     */
    public static Optional<String> problem() {
        int descriptor = Libc.pidfdOpen(ProcessHandle.current().pid());
        if (descriptor < 0) {
            return Optional.of("pidfd_open failed with errno " + -descriptor);
        }
        int closed = Libc.close(descriptor);
        return closed < 0 ? Optional.of("close failed with errno " + -closed) : Optional.empty();
    }

    /**
     * Opens the process with this pid and start time; also a zombie.
     *
     * @throws IOException when its identity cannot be read, or no descriptor is left
     */
    public static Opened open(ProcFs procFs, long pid, long startTicks) throws IOException {
        int descriptor = Libc.pidfdOpen(pid);
        switch (-descriptor) {
            // EINVAL: a thread has that number now.
            case Libc.ESRCH, Libc.EINVAL -> {
                return new Opened.Gone();
            }
            case Libc.ENOSYS, Libc.EPERM -> {
                return new Opened.Unsupported("pidfd_open failed with errno " + -descriptor);
            }
            default -> {
                if (descriptor < 0) {
                    throw refused("pidfd_open", pid, -descriptor);
                }
            }
        }
        Pidfd pidfd = new Pidfd(pid, descriptor);
        boolean same = false;
        try {
            same = procFs.stat(pid)
                    .filter(stat -> stat.startTicks() == startTicks)
                    .isPresent();
        } finally {
            if (!same) {
                pidfd.close();
            }
        }
        return same ? new Opened.Open(pidfd) : new Opened.Gone();
    }

    /**
     * Sends a signal to the process with this pid and start time, and never to another one that reuses its pid; false when it is gone.
     *
     * @throws IOException when the kernel refuses, or its identity cannot be read
     */
    public static boolean signal(ProcFs procFs, long pid, long startTicks, int signal) throws IOException {
        return switch (open(procFs, pid, startTicks)) {
            case Opened.Open(Pidfd pidfd) -> {
                try (pidfd) {
                    yield pidfd.send(signal);
                }
            }
            case Opened.Gone gone -> false;
            // All we can do is check as shortly before as possible.
            case Opened.Unsupported unsupported ->
                procFs.stat(pid).filter(stat -> stat.startTicks() == startTicks).isPresent()
                        && sendToNumber(pid, signal);
        };
    }

    /**
     * Sends a signal; false when the process is gone.
     *
     * @throws IOException when the kernel refuses
     */
    public boolean send(int signal) throws IOException {
        return sent("pidfd_send_signal", pid, Libc.pidfdSendSignal(descriptor, signal));
    }

    /**
     * Sends a signal to whatever process has this pid, kill(2), for when {@link Opened.Unsupported} leaves nothing better; false when
     * none has it.
     */
    public static boolean sendToNumber(long pid, int signal) throws IOException {
        return sent("kill", pid, Libc.kill(pid, signal));
    }

    private static boolean sent(String call, long pid, int result) throws IOException {
        if (result < 0 && result != -Libc.ESRCH) {
            throw refused(call, pid, -result);
        }
        return result >= 0;
    }

    /** Readable as soon as the process, with all its threads, has ended. */
    int descriptor() {
        return descriptor;
    }

    @Override
    public void close() {
        if (descriptor >= 0) {
            Libc.close(descriptor);
            descriptor = -1;
        }
    }

    private static IOException refused(String call, long pid, int error) {
        return new IOException(call + " on process " + pid + " failed with errno " + error);
    }
}
