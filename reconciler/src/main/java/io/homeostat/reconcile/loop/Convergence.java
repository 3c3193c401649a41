package io.homeostat.reconcile.loop;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.StoreException;
import io.homeostat.observe.Defect;
import io.homeostat.reconcile.plan.Situation;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.plan.WorkloadPlan;
import java.time.Duration;
import java.util.Collection;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/** Tracks how far a set of workloads has converged, and can be waited for. */
public final class Convergence implements PassListener {

    /** The state of one workload. */
    public sealed interface Progress {
        /** Passes go on; {@code what} says what it is at. */
        record UnderWay(String what) implements Progress {}

        /**
         * At its desired state.
         *
         * @param since the look that found it so, in nanoseconds of the ticker
         */
        record Converged(long since) implements Progress {}

        /** Not at its desired state, and nothing more is done about it now. */
        record Stuck(String why) implements Progress {}
    }

    private static final Progress NOT_LOOKED = new Progress.UnderWay("not looked at yet");

    /** How long those that nobody waits for have for a first look, by which it shows that there is nothing to do about most of them. */
    private static final Duration FIRST_LOOK = Duration.ofSeconds(1);

    /** How long what was seen is taken to be so still. */
    private static final Duration A_WHILE = Duration.ofSeconds(1);

    private final PassListener delegate;
    private final Ticker ticker;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final TreeMap<WorkloadId, Progress> workloads = new TreeMap<>();

    public Convergence(Collection<WorkloadId> ids, PassListener delegate, Ticker ticker) {
        this.delegate = delegate;
        this.ticker = ticker;
        ids.forEach(id -> workloads.put(id, NOT_LOOKED));
    }

    /** Waits until nothing is under way any more, or the time is over. */
    public ImmutableSortedMap<WorkloadId, Progress> await(Duration patience) throws InterruptedException {
        return await(patience, Set.of());
    }

    /**
     * Waits until none of these is under way any more, or the time is over.
     *
     * @param asked empty: all
     */
    public ImmutableSortedMap<WorkloadId, Progress> await(Duration patience, Set<WorkloadId> asked)
            throws InterruptedException {
        lock.lockInterruptibly();
        try {
            long left = TimeUnit.NANOSECONDS.convert(patience);
            while (left > 0 && isUnderWay(asked)) {
                left = changed.awaitNanos(left);
            }
            long more = Math.min(left, FIRST_LOOK.toNanos());
            while (more > 0 && workloads.containsValue(NOT_LOOKED)) {
                more = changed.awaitNanos(more);
            }
            return ImmutableSortedMap.copyOf(workloads);
        } finally {
            lock.unlock();
        }
    }

    private boolean isUnderWay(Set<WorkloadId> asked) {
        return workloads.entrySet().stream()
                .anyMatch(one -> one.getValue() instanceof Progress.UnderWay
                        && (asked.isEmpty() || asked.contains(one.getKey())));
    }

    /** Those that are converged by a look of a while ago, which are under way from now on until the next one. */
    public ImmutableSet<WorkloadId> lookAgain() {
        lock.lock();
        try {
            long now = ticker.read();
            ImmutableSet<WorkloadId> stale = workloads.entrySet().stream()
                    .filter(one ->
                            one.getValue() instanceof Progress.Converged(long since) && now - since > A_WHILE.toNanos())
                    .map(Map.Entry::getKey)
                    .collect(ImmutableSet.toImmutableSet());
            stale.forEach(id -> workloads.put(id, new Progress.UnderWay("looked at once more")));
            return stale;
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void begun(PassId pass) {
        delegate.begun(pass);
    }

    @Override
    public void looked(Situation situation, WorkloadPlan plan) {
        delegate.looked(situation, plan);
    }

    @Override
    public void starting(Step step) {
        put(step.workload(), new Progress.UnderWay(step.word()));
        delegate.starting(step);
    }

    /** Stuck workloads may now be able to go on; converged ones stay so until a pass finds otherwise. */
    @Override
    public void concerned(Set<WorkloadId> others) {
        lock.lock();
        try {
            others.forEach(other -> workloads.computeIfPresent(
                    other,
                    (id, progress) -> progress instanceof Progress.Stuck
                            ? new Progress.UnderWay("something that it waits for has changed")
                            : progress));
        } finally {
            lock.unlock();
        }
        delegate.concerned(others);
    }

    @Override
    public void finished(WorkloadId id, PassResult next) {
        put(id, progress(next));
        delegate.finished(id, next);
    }

    /** What is under way for that workload is not waited for. */
    public void enough(WorkloadId id) {
        put(id, new Progress.Converged(ticker.read()));
    }

    @Override
    public void broken(WorkloadId id, Throwable problem) {
        // What the store refuses, a full disk for one, may soon be over; a defect is not, and whoever waits shall hear
        // of it.
        String what = Defect.words(problem);
        put(id, problem instanceof StoreException ? new Progress.UnderWay(what) : new Progress.Stuck(what));
        delegate.broken(id, problem);
    }

    private Progress progress(PassResult next) {
        return switch (next) {
            case PassResult.Settled settled -> new Progress.Converged(ticker.read());
            case PassResult.Again again -> new Progress.UnderWay(again.step().word());
            case PassResult.UnderWay fetch -> new Progress.UnderWay(fetch.step().word());
            case PassResult.Later later ->
                switch (later.until().kind()) {
                    case PROGRESS -> new Progress.UnderWay(later.until().why());
                    case RETRY, DECLARATION -> new Progress.Stuck(later.until().why());
                };
        };
    }

    private void put(WorkloadId id, Progress progress) {
        lock.lock();
        try {
            workloads.put(id, progress);
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }
}
