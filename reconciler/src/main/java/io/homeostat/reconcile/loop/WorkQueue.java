package io.homeostat.reconcile.loop;

import com.github.benmanes.caffeine.cache.Ticker;
import io.homeostat.reconcile.loop.PassId.Trigger;
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
 *
 * <p>A key is handed out with the trigger of the addition that made it due: the soonest one, and of equals the first.
 */
final class WorkQueue<K> {
    private static final Duration LONGEST_DELAY = Duration.ofDays(365);

    /** When a key is due, in nanoseconds of the ticker; the order of addition decides between equals. */
    private record Due<K>(K key, Trigger trigger, long at, long order) {}

    /** A key that is due, and why. */
    record Taken<K>(K key, Trigger trigger) {}

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

    void add(K key, Trigger trigger) {
        add(key, trigger, Duration.ZERO);
    }

    void add(K key, Trigger trigger, Duration delay) {
        Duration bounded = delay.compareTo(LONGEST_DELAY) > 0 ? LONGEST_DELAY : delay;
        lock.lock();
        try {
            Due<K> due = new Due<>(key, trigger, ticker.read() + Math.max(0, bounded.toNanos()), order++);
            Due<K> known = dueByKey.get(key);
            if (known != null && known.at() <= due.at()) {
                return;
            }
            dueByKey.put(key, due);
            if (!inWork.contains(key)) {
                if (known != null) {
                    waiting.remove(known);
                }
                await(due);
            }
        } finally {
            lock.unlock();
        }
    }

    /**
     * Waits for a key that is due; whoever takes a key calls {@link #done}.
     *
     * @return empty when none was due for so long, or the queue is closed
     */
    Optional<Taken<K>> take(Duration patience) throws InterruptedException {
        lock.lockInterruptibly();
        try {
            long end = ticker.read() + patience.toNanos();
            while (!closed) {
                long now = ticker.read();
                long left = waiting.isEmpty() ? Long.MAX_VALUE : waiting.first().at() - now;
                if (left <= 0) {
                    Due<K> next = waiting.first();
                    waiting.remove(next);
                    dueByKey.remove(next.key());
                    inWork.add(next.key());
                    return Optional.of(new Taken<>(next.key(), next.trigger()));
                }
                if (end - now <= 0) {
                    return Optional.empty();
                }
                changed.await(Math.min(left, end - now), TimeUnit.NANOSECONDS);
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
                await(again);
            }
        } finally {
            lock.unlock();
        }
    }

    /** Whoever takes keys sleeps until the first of them is due, and is woken only when that is another one now. */
    private void await(Due<K> due) {
        waiting.add(due);
        if (waiting.first().equals(due)) {
            changed.signalAll();
        }
    }

    /** How many keys are due and have not been handed out, those included that wait for somebody to be done with them. */
    int depth() {
        lock.lock();
        try {
            long now = ticker.read();
            return Math.toIntExact(
                    dueByKey.values().stream().filter(due -> due.at() <= now).count());
        } finally {
            lock.unlock();
        }
    }

    boolean isClosed() {
        lock.lock();
        try {
            return closed;
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
