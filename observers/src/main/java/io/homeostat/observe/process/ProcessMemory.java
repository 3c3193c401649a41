package io.homeostat.observe.process;

import com.google.common.collect.ImmutableSet;
import io.homeostat.observe.process.ProcFs.ProcessKey;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Reads files of /proc/PID for which the kernel takes the lock of the process's memory, such as environ and cmdline. A process can keep that
 * lock: one thread of it reads memory that a file system in user space stands behind, and never answers. So each such file is read on a
 * thread of its own, and given up when that takes too long. For many threads.
 */
final class ProcessMemory {
    static final Duration PATIENCE = Duration.ofSeconds(1);

    /** Each is a thread of ours, and a part of the patience. */
    static final int MOST_HANGING = 8;

    private static final ProcessMemory OF_THIS_MACHINE = new ProcessMemory(PATIENCE);

    private final Duration patience;
    private final ConcurrentMap<Integer, OfUser> users = new ConcurrentHashMap<>();

    private static final class OfUser {
        /** One at a time: what is about to hang is not asked by several. */
        private final Lock turn = new ReentrantLock();

        private final HangingLooks<ProcessKey> looks = new HangingLooks<>();
    }

    ProcessMemory(Duration patience) {
        this.patience = patience;
    }

    static ProcessMemory ofThisMachine() {
        return OF_THIS_MACHINE;
    }

    /** A process that keeps its memory, or is not asked because too many others of its user do. */
    static final class Unanswered extends IOException {
        private static final long serialVersionUID = 1;

        private final transient ImmutableSet<ProcessKey> holders;

        Unanswered(ImmutableSet<ProcessKey> holders) {
            super("the memory of a process can't be read, as " + holders + " hold theirs");
            this.holders = holders;
        }

        /** Those that have to end before it can be known. */
        ImmutableSet<ProcessKey> holders() {
            return holders;
        }
    }

    /**
     * Reads such a file.
     *
     * @param user whose processes wait for each other: the one whose the process is, or for whose workload it is looked at
     * @throws Unanswered at once when the process has not answered an earlier look
     */
    <T> T read(int user, ProcessKey process, Callable<T> work) throws IOException {
        OfUser of = users.computeIfAbsent(user, any -> new OfUser());
        of.turn.lock();
        try {
            ImmutableSet<ProcessKey> hanging = of.looks.hanging();
            if (hanging.contains(process)) {
                throw new Unanswered(ImmutableSet.of(process));
            }
            if (hanging.size() >= MOST_HANGING) {
                throw new Unanswered(hanging);
            }
            // Who has one such process has more of them: all together they don't keep a look for long.
            Duration wait = hanging.isEmpty() ? patience : patience.dividedBy(MOST_HANGING);
            return of.looks.await(process, ChangedThread.start("memory of process " + process.pid(), work), wait);
        } catch (TimeoutException e) {
            throw new Unanswered(ImmutableSet.of(process));
        } catch (ExecutionException e) {
            if (e.getCause() instanceof IOException io) {
                throw io;
            }
            throw new IOException("the memory of process " + process.pid() + " can't be read", e.getCause());
        } finally {
            of.turn.unlock();
        }
    }
}
