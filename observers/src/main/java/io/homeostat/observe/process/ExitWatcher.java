package io.homeostat.observe.process;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.observe.process.Pidfd.Opened;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reports at once when a process ends, whoever its parent is. These are hints: where the machine has no pidfds there are none, and only
 * the periodic look notices an end. Never collects an exit status, which belongs to the parent.
 *
 * <p>One thread waits for all processes, because a waiting foreign call pins its thread. Only this thread touches the descriptors.
 */
public final class ExitWatcher implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(ExitWatcher.class);
    private static final Duration PATIENCE_AT_CLOSE = Duration.ofSeconds(5);

    /** struct pollfd, poll(2). */
    private static final StructLayout POLLFD = MemoryLayout.structLayout(JAVA_INT, JAVA_SHORT, JAVA_SHORT);

    private static final long EVENTS = 4;
    private static final long RETURNED_EVENTS = 6;
    private static final short POLLIN = 1;

    private final ProcFs procFs;
    private final Opener opener;
    private final int wake;
    private final Thread thread;

    private final Object lock = new Object();
    private final List<Request> requests = new ArrayList<>();
    private boolean closed;

    // Used by the thread only.
    private final Map<ProcessIdentity, Watched> watched = new LinkedHashMap<>();

    /** Opens a process; a test has a kernel that cannot. */
    interface Opener {
        Opened open(ProcFs procFs, long pid, long startTicks) throws IOException;
    }

    private record Request(ProcessIdentity identity, Runnable onExit) {}

    private record Watched(Pidfd pidfd, Runnable onExit) {}

    public ExitWatcher(ProcFs procFs) {
        this(procFs, Pidfd::open);
    }

    ExitWatcher(ProcFs procFs, Opener opener) {
        this.procFs = procFs;
        this.opener = opener;
        this.wake = Libc.eventfd();
        this.thread = Thread.ofPlatform().name("exit-watcher").daemon(true).unstarted(this::run);
        if (wake < 0) {
            closed = true;
            noHints("eventfd failed with errno " + -wake);
        } else {
            thread.start();
        }
    }

    /**
     * Calls back when this process ends; at once when it already has. Asking again for a watched process changes nothing.
     *
     * @param onExit called on the watcher's thread; must not block
     */
    public void watch(ProcessIdentity identity, Runnable onExit) {
        synchronized (lock) {
            if (!closed) {
                requests.add(new Request(identity, onExit));
                Libc.notify(wake);
            }
        }
    }

    /** Forgets all processes. No callback begins after this has returned, unless one takes longer than five seconds. */
    @Override
    public void close() {
        synchronized (lock) {
            if (!closed) {
                closed = true;
                Libc.notify(wake);
            }
        }
        if (!thread.equals(Thread.currentThread())) {
            try {
                thread.join(PATIENCE_AT_CLOSE);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private void run() {
        try {
            while (takeRequests()) {
                awaitEnds();
            }
        } catch (IOException | RuntimeException | Error e) {
            noHints(String.valueOf(e));
        } finally {
            synchronized (lock) {
                // From here on nobody writes to a descriptor number that may soon be another file's.
                closed = true;
                Libc.close(wake);
            }
            watched.values().forEach(each -> each.pidfd().close());
        }
    }

    /** False when this is closed. */
    private boolean takeRequests() {
        List<Request> taken;
        synchronized (lock) {
            if (closed) {
                return false;
            }
            taken = List.copyOf(requests);
            requests.clear();
        }
        for (Request request : taken) {
            if (isClosed()) {
                return false;
            }
            if (!watched.containsKey(request.identity()) && !add(request)) {
                return false;
            }
        }
        return true;
    }

    /** False when this machine will never report exits. */
    private boolean add(Request request) {
        ProcessIdentity identity = request.identity();
        try {
            if (!identity.bootId().equals(procFs.bootId())) {
                call(request.onExit());
                return true;
            }
            switch (opener.open(procFs, identity.pid(), identity.startTicks())) {
                case Opened.Open(Pidfd pidfd) -> watched.put(identity, new Watched(pidfd, request.onExit()));
                case Opened.Gone gone -> call(request.onExit());
                case Opened.Unsupported(String why) -> {
                    noHints(why);
                    return false;
                }
            }
        } catch (IOException e) {
            LOG.warn(
                    "The end of process {} will be noticed late, at the next periodic look: {}",
                    identity.pid(),
                    e.getMessage());
        }
        return true;
    }

    private void awaitEnds() throws IOException {
        List<ProcessIdentity> identities = List.copyOf(watched.keySet());
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment descriptors = arena.allocate(POLLFD, identities.size() + 1L);
            set(descriptors, 0, wake);
            int slot = 1;
            for (Watched each : watched.values()) {
                set(descriptors, slot, each.pidfd().descriptor());
                slot++;
            }
            int ready = Libc.poll(descriptors, slot);
            if (ready < 0 && ready != -Libc.EINTR) {
                throw new IOException("poll on " + slot + " descriptors failed with errno " + -ready);
            }
            if (ready > 0 && isReady(descriptors, 0)) {
                Libc.drain(wake);
            }
            for (int i = 0; ready > 0 && i < identities.size(); i++) {
                if (isReady(descriptors, i + 1) && !isClosed()) {
                    ended(identities.get(i));
                }
            }
        }
    }

    private void ended(ProcessIdentity identity) {
        Watched over = watched.remove(identity);
        if (over != null) {
            over.pidfd().close();
            call(over.onExit());
        }
    }

    private static void set(MemorySegment descriptors, long slot, int descriptor) {
        long offset = slot * POLLFD.byteSize();
        descriptors.set(JAVA_INT, offset, descriptor);
        descriptors.set(JAVA_SHORT, offset + EVENTS, POLLIN);
    }

    private static boolean isReady(MemorySegment descriptors, long slot) {
        return descriptors.get(JAVA_SHORT, slot * POLLFD.byteSize() + RETURNED_EVENTS) != 0;
    }

    private boolean isClosed() {
        synchronized (lock) {
            return closed;
        }
    }

    private static void call(Runnable onExit) {
        try {
            onExit.run();
        } catch (RuntimeException | Error e) {
            LOG.error("What should follow a process's end failed; the periodic look will make up for it", e);
        }
    }

    private static void noHints(String why) {
        LOG.warn("Ends of processes are noticed late, at each periodic look, since the kernel does not tell: {}", why);
    }
}
