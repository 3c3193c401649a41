package io.homeostat.reconcile.agent;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedSet;
import com.google.common.collect.Sets;
import io.homeostat.actuate.fetch.Downloader.Progress;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.reconcile.loop.PassId;
import io.homeostat.reconcile.loop.PassListener;
import io.homeostat.reconcile.loop.PassResult;
import io.homeostat.reconcile.plan.Situation;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.plan.WorkloadPlan;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Tells many of what passes do. Who subscribes hears only of passes that began after that: one that was under way goes by what was
 * declared before, and its end would be taken for an answer. Subscribers are told on the thread of the pass and must not wait.
 */
final class PassBroadcast implements PassListener {
    /** A subscription to passes, until it is closed. */
    interface Following extends AutoCloseable {
        /** Tells this one what was heard up to now, and from now on. To be called once. */
        void tell(PassListener subscriber);

        @Override
        void close();
    }

    private final ImmutableList<PassListener> residents;
    private final List<Subscription> subscriptions = new CopyOnWriteArrayList<>();

    /** @param residents hear of every pass */
    PassBroadcast(ImmutableList<PassListener> residents) {
        this.residents = residents;
    }

    private final class Subscription implements Following {
        private final ImmutableSortedSet<WorkloadId> ids;
        private final ReentrantLock telling = new ReentrantLock();
        private final Set<WorkloadId> heard = ConcurrentHashMap.newKeySet();
        private final List<Consumer<PassListener>> kept = new ArrayList<>();
        private @Nullable PassListener subscriber;
        private boolean closed;

        private Subscription(ImmutableSortedSet<WorkloadId> ids) {
            this.ids = ids;
        }

        @Override
        public void tell(PassListener listener) {
            telling.lock();
            try {
                kept.forEach(what -> what.accept(listener));
                kept.clear();
                subscriber = listener;
            } finally {
                telling.unlock();
            }
        }

        private void begun(PassId pass) {
            if (ids.contains(pass.workload())) {
                heard.add(pass.workload());
                tell(pass.workload(), listener -> listener.begun(pass));
            }
        }

        private void tell(WorkloadId id, Consumer<PassListener> what) {
            if (heard.contains(id)) {
                tell(what);
            }
        }

        private void concerned(Set<WorkloadId> others) {
            ImmutableSet<WorkloadId> known = Sets.intersection(others, heard).immutableCopy();
            tell(listener -> listener.concerned(known));
        }

        private void tell(Consumer<PassListener> what) {
            telling.lock();
            try {
                if (closed) {
                    return;
                }
                if (subscriber == null) {
                    kept.add(what);
                } else {
                    what.accept(subscriber);
                }
            } finally {
                telling.unlock();
            }
        }

        /** After this has returned the subscriber hears nothing more, so no pass waits for what it does then. */
        @Override
        public void close() {
            subscriptions.remove(this);
            telling.lock();
            try {
                closed = true;
            } finally {
                telling.unlock();
            }
        }
    }

    /** Keeps what it hears for whoever is to be told: nothing is waited for, so that passes may be kept from storing meanwhile. */
    Following subscribe(ImmutableSortedSet<WorkloadId> ids) {
        Subscription subscription = new Subscription(ids);
        subscriptions.add(subscription);
        return subscription;
    }

    @Override
    public void begun(PassId pass) {
        residents.forEach(resident -> resident.begun(pass));
        subscriptions.forEach(subscription -> subscription.begun(pass));
    }

    @Override
    public void looked(Situation situation, WorkloadPlan plan) {
        residents.forEach(resident -> resident.looked(situation, plan));
        tell(situation.id(), subscriber -> subscriber.looked(situation, plan));
    }

    @Override
    public void starting(Step step) {
        residents.forEach(resident -> resident.starting(step));
        tell(step.workload(), subscriber -> subscriber.starting(step));
    }

    @Override
    public void concerned(Set<WorkloadId> others) {
        residents.forEach(resident -> resident.concerned(others));
        subscriptions.forEach(subscription -> subscription.concerned(others));
    }

    @Override
    public void finished(WorkloadId id, PassResult next) {
        residents.forEach(resident -> resident.finished(id, next));
        tell(id, subscriber -> subscriber.finished(id, next));
    }

    @Override
    public void broken(WorkloadId id, Throwable problem) {
        residents.forEach(resident -> resident.broken(id, problem));
        tell(id, subscriber -> subscriber.broken(id, problem));
    }

    /** For whoever downloads: tells all who listen by then. */
    @Override
    public Progress download(WorkloadId id) {
        return (done, total) -> tell(id, subscriber -> subscriber.download(id).bytes(done, total));
    }

    private void tell(WorkloadId id, Consumer<PassListener> what) {
        subscriptions.forEach(subscription -> subscription.tell(id, what));
    }
}
