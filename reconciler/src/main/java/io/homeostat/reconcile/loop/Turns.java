package io.homeostat.reconcile.loop;

import io.homeostat.desired.model.WorkloadId;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;

/**
 * One at a time deals with a workload's process: the steps of its passes, and whoever speaks with it beside them. Different workloads
 * have nothing to do with each other.
 */
public final class Turns {
    private final ConcurrentMap<WorkloadId, ReentrantLock> taken = new ConcurrentHashMap<>();

    /** What is done in a turn. */
    @FunctionalInterface
    public interface Work<T> {
        T run() throws InterruptedException;
    }

    /**
     * Does something to a workload while nobody else does.
     *
     * @param patience how long to wait for whoever has the turn
     * @return empty when they were not done by then, and nothing was done
     */
    public <T> Optional<T> within(WorkloadId id, Duration patience, Work<T> work) throws InterruptedException {
        while (true) {
            ReentrantLock lock = taken.computeIfAbsent(id, same -> new ReentrantLock(true));
            if (!lock.tryLock(patience.toNanos(), TimeUnit.NANOSECONDS)) {
                return Optional.empty();
            }
            try {
                // One that was given back in the meantime is nobody's, and another may be in its place.
                if (lock.equals(taken.get(id))) {
                    return Optional.of(work.run());
                }
            } finally {
                if (!lock.hasQueuedThreads()) {
                    taken.remove(id, lock);
                }
                lock.unlock();
            }
        }
    }
}
