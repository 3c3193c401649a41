package io.homeostat.reconcile.loop;

import com.google.common.base.Ticker;
import java.time.Duration;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Keys that want attention. A key that is added twice is handed out once; a key that is added while somebody works on it is
 * handed out again when that one is done, so that no two work on it and no addition is lost. A key that was added for later and
 * is added for sooner comes sooner.
 */
final class WorkQueue<K> {
    private static final Duration LONGEST_DELAY = Duration.ofDays(365);

    /** When a key is due, in nanoseconds of the ticker; the order of addition decides between equals. */
    private record Due<K>(K key, long at, long order) {}

    private final Ticker ticker;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final TreeSet<Due<K>> waiting =
            new TreeSet<>(Comparator.<Due<K>>comparingLong(Due::at).thenComparingLong(Due::order));
    private final Map<K, Due<K>> dueByKey = new HashMap<>();
    private final Set<K> inWork = new HashSet<>();
    private long order;
    private boolean closed;

    WorkQueue(Ticker ticker) {
        this.ticker = ticker;
    }

    void add(K key) {
        add(key, Duration.ZERO);
    }

    void add(K key, Duration delay) {
        Duration bounded = delay.compareTo(LONGEST_DELAY) > 0 ? LONGEST_DELAY : delay;
        lock.lock();
        try {
            Due<K> due = new Due<>(key, ticker.read() + Math.max(0, bounded.toNanos()), order++);
            Due<K> known = dueByKey.get(key);
            if (known != null && known.at() <= due.at()) {
                return;
            }
            dueByKey.put(key, due);
            if (!inWork.contains(key)) {
                if (known != null) {
                    waiting.remove(known);
                }
                waiting.add(due);
                changed.signalAll();
            }
        } finally {
            lock.unlock();
        }
    }

    /** Waits for a key that is due; empty when the queue was closed. Whoever takes a key calls {@link #done}. */
    Optional<K> take() throws InterruptedException {
        lock.lockInterruptibly();
        try {
            while (!closed) {
                if (waiting.isEmpty()) {
                    changed.await();
                    continue;
                }
                Due<K> next = waiting.first();
                long left = next.at() - ticker.read();
                if (left > 0) {
                    changed.await(left, TimeUnit.NANOSECONDS);
                    continue;
                }
                waiting.remove(next);
                dueByKey.remove(next.key());
                inWork.add(next.key());
                return Optional.of(next.key());
            }
            return Optional.empty();
        } finally {
            lock.unlock();
        }
    }

    void done(K key) {
        lock.lock();
        try {
            inWork.remove(key);
            Due<K> again = dueByKey.get(key);
            if (again != null) {
                waiting.add(again);
            }
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    void close() {
        lock.lock();
        try {
            closed = true;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }
}
