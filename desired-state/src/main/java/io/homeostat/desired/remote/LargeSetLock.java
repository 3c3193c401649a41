package io.homeostat.desired.remote;

import io.homeostat.desired.fleet.SetReader;
import io.homeostat.desired.remote.SetFetcher.Fetched;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Lock that all sources of an agent share, so that one large set at a time is in memory: a set takes up to ten times its size while it is
 * decoded and parsed, and whoever serves sets needs no key to have that done. A fetcher acquires the lock once it knows that a set may be
 * large, on the thread that called it; that thread releases it when the set was stored or refused.
 */
public final class LargeSetLock {
    /** The most bytes of a set that is read without the lock. */
    static final int SMALL = 1 << 20;

    private final ReentrantLock lock;

    /** A lock of its own. */
    public LargeSetLock() {
        this(new ReentrantLock(true));
    }

    /** @param lock that is held also for other work */
    public LargeSetLock(ReentrantLock lock) {
        this.lock = lock;
    }

    /** Acquires the lock unless the current thread holds it. */
    void acquire() throws InterruptedException {
        if (!lock.isHeldByCurrentThread()) {
            lock.lockInterruptibly();
        }
    }

    /** Acquires the lock if a file that was fetched is large, or is so once it is unpacked, unless the current thread holds it. */
    public void acquireFor(Fetched fetched) throws InterruptedException {
        if (fetched instanceof Fetched.File file && SetReader.isLonger(file.content(), SMALL)) {
            acquire();
        }
    }

    /** Acquires the lock for what takes more bytes than a small set, unless the current thread holds it. */
    public void acquireFor(long bytes) throws InterruptedException {
        if (bytes > SMALL) {
            acquire();
        }
    }

    /** Releases the lock if the current thread holds it. */
    public void release() {
        if (lock.isHeldByCurrentThread()) {
            lock.unlock();
        }
    }

    /** Returns whether a thread waits for the lock. */
    public boolean isAwaited() {
        return lock.hasQueuedThreads();
    }
}
