package io.homeostat.reconcile.loop;

import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.reconcile.plan.Step;
import java.time.Duration;
import java.util.Collection;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/** Tracks how far a set of workloads has converged, and can be waited for. */
public final class Convergence implements PassListener {

    /** The state of one workload. */
    public sealed interface Standing {
        /** Passes go on; {@code what} says what it is at. */
        record UnderWay(String what) implements Standing {}

        /** At its desired state. */
        record Converged() implements Standing {}

        /** Not at its desired state, and nothing more is done about it now. */
        record Stuck(String why) implements Standing {}
    }

    private final PassListener delegate;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final TreeMap<WorkloadId, Standing> standings = new TreeMap<>();

    public Convergence(Collection<WorkloadId> ids, PassListener delegate) {
        this.delegate = delegate;
        ids.forEach(id -> standings.put(id, new Standing.UnderWay("not looked at yet")));
    }

    /** Waits until nothing is under way any more, or the time is over. */
    public ImmutableSortedMap<WorkloadId, Standing> await(Duration patience) throws InterruptedException {
        lock.lockInterruptibly();
        try {
            long left = patience.toNanos();
            while (left > 0 && standings.values().stream().anyMatch(s -> s instanceof Standing.UnderWay)) {
                left = changed.awaitNanos(left);
            }
            return ImmutableSortedMap.copyOf(standings);
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void begun(PassId pass) {
        delegate.begun(pass);
    }

    @Override
    public void starting(Step step) {
        put(step.workload(), new Standing.UnderWay(step.word()));
        delegate.starting(step);
    }

    /** Stuck workloads may now be able to go on; converged ones stay so until a pass finds otherwise. */
    @Override
    public void concerned(Set<WorkloadId> others) {
        lock.lock();
        try {
            others.forEach(other -> standings.computeIfPresent(
                    other,
                    (id, standing) -> standing instanceof Standing.Stuck
                            ? new Standing.UnderWay("something that it waits for has changed")
                            : standing));
        } finally {
            lock.unlock();
        }
        delegate.concerned(others);
    }

    @Override
    public void finished(WorkloadId id, PassResult next) {
        put(id, standing(next));
        delegate.finished(id, next);
    }

    @Override
    public void broken(WorkloadId id, Throwable problem) {
        put(id, new Standing.UnderWay("internal error: " + problem.getMessage()));
        delegate.broken(id, problem);
    }

    private static Standing standing(PassResult next) {
        return switch (next) {
            case PassResult.Settled settled -> new Standing.Converged();
            case PassResult.Again again -> new Standing.UnderWay(again.step().word());
            case PassResult.Later later ->
                switch (later.until().kind()) {
                    case PROGRESS -> new Standing.UnderWay(later.until().why());
                    case RETRY, DECLARATION -> new Standing.Stuck(later.until().why());
                };
        };
    }

    private void put(WorkloadId id, Standing standing) {
        lock.lock();
        try {
            standings.put(id, standing);
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }
}
