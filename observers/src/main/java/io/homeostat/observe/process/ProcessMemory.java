package io.homeostat.observe.process;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.platform.TokenBucket;
import io.homeostat.observe.process.ProcFs.ProcessKey;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Reads files of /proc/PID for which the kernel takes the lock of the process's memory, such as environ. A process can keep that lock: one
 * thread of it reads memory that a file system in user space stands behind, and never answers. So whoever asks has the file read by another
 * thread, and gives it up when that takes too long. For many threads.
 */
final class ProcessMemory {
    static final Duration PATIENCE = Duration.ofSeconds(1);

    /** The most reads of a user's processes that hang at once: each keeps a thread of ours, and takes a part of the patience. */
    static final int MOST_HANGING = 8;

    /** The number of times the patience that late answers of a user's processes may take in all; then they get next to none. */
    private static final int SPENT = 2;

    /** The nanoseconds after which one more of that is allowed. */
    private static final int ALLOWED_ONE_IN = 30;

    /** The part of the patience that an answer may take without being late; also of a disk, or a busy machine. */
    private static final int SOON = 50;

    /** The threads that read. One is used again and again within a look, unless it hangs. */
    private static final ExecutorService READERS = new ThreadPoolExecutor(
            0,
            Integer.MAX_VALUE,
            100,
            TimeUnit.MILLISECONDS,
            new SynchronousQueue<>(),
            Thread.ofPlatform().daemon().name("memory of processes").factory());

    private static final ProcessMemory OF_THIS_MACHINE = new ProcessMemory(PATIENCE);

    private final Duration patience;
    private final Ticker ticker;
    private final ConcurrentMap<Integer, OfUser> users = new ConcurrentHashMap<>();

    private final class OfUser {
        /** Held by the one who asks: several would each wait for the same process. */
        private final Lock turn = new ReentrantLock();

        private final HangingLooks<ProcessKey> looks = new HangingLooks<>();

        /** The nanoseconds that late answers may still take: many that are each just in time would keep a look for long, too. */
        private final TokenBucket left =
                new TokenBucket((double) SPENT * patience.toNanos(), ALLOWED_ONE_IN, ticker.read());

        /** Whether they are our own, which do nothing to keep us waiting: they are late when the machine is busy. */
        private final boolean isTrusted;

        OfUser(boolean isTrusted) {
            this.isTrusted = isTrusted;
        }

        Duration patience(boolean isHanging) {
            if (isTrusted) {
                return patience;
            }
            if (left.available(ticker.read()) <= 0) {
                return patience.dividedBy(2L * SOON);
            }
            // Who has one such process has more of them: all together they don't keep a look for long.
            return isHanging ? patience.dividedBy(MOST_HANGING) : patience;
        }

        void spend(long nanos) {
            if (nanos > patience.dividedBy(SOON).toNanos()) {
                left.take(nanos);
            }
        }
    }

    ProcessMemory(Duration patience) {
        this(patience, Ticker.systemTicker());
    }

    ProcessMemory(Duration patience, Ticker ticker) {
        this.patience = patience;
        this.ticker = ticker;
    }

    /** Returns how long the next answer of a user's process is waited for. */
    Duration patience(int user) throws IOException {
        OfUser of = of(user);
        of.turn.lock();
        try {
            return of.patience(!of.looks.hanging().isEmpty());
        } finally {
            of.turn.unlock();
        }
    }

    private OfUser of(int user) throws IOException {
        boolean isTrusted = user == Account.ourUid();
        return users.computeIfAbsent(user, any -> new OfUser(isTrusted));
    }

    static ProcessMemory ofThisMachine() {
        return OF_THIS_MACHINE;
    }

    /** The failure to read of a process that keeps its memory, or is not asked because too many others of its user do. */
    static final class Unanswered extends IOException {
        private static final long serialVersionUID = 1;

        private final transient ImmutableSet<ProcessKey> holders;

        Unanswered(ImmutableSet<ProcessKey> holders) {
            super("the memory of a process can't be read, as " + holders + " hold theirs");
            this.holders = holders;
        }

        /** Returns the processes that have to end before this one can be asked. */
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
        OfUser of = of(user);
        of.turn.lock();
        try {
            ImmutableSet<ProcessKey> hanging = of.looks.hanging();
            if (hanging.contains(process)) {
                throw new Unanswered(ImmutableSet.of(process));
            }
            if (hanging.size() >= MOST_HANGING) {
                throw new Unanswered(hanging);
            }
            Duration wait = of.patience(!hanging.isEmpty());
            long begin = ticker.read();
            try {
                return of.looks.await(process, READERS.submit(work), wait);
            } finally {
                of.spend(ticker.read() - begin);
            }
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
