package io.homeostat.reconcile.agent;

import com.google.common.collect.ImmutableCollection;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedSet;
import com.google.common.collect.Sets;
import io.homeostat.desired.model.DesiredState;
import io.homeostat.desired.model.DesiredState.Policy;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.source.StoredState;
import io.homeostat.desired.state.StateReader;
import io.homeostat.desired.state.StateStore;
import io.homeostat.observe.Observation;
import io.homeostat.observe.Observer;
import io.homeostat.reconcile.agent.PassBroadcast.Following;
import io.homeostat.reconcile.loop.PassId.Trigger;
import io.homeostat.reconcile.loop.PassListener;
import io.homeostat.reconcile.loop.Reconciler;
import io.homeostat.reconcile.loop.WorkloadPass;
import java.util.Objects;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Changes from outside to what is declared or remembered. Each is stored, then passes go by it, then the affected workloads are looked
 * at.
 */
final class StateUpdates {
    private static final Logger LOG = LoggerFactory.getLogger(StateUpdates.class);

    /** Wants to know how a change is carried out. */
    @FunctionalInterface
    interface Follower {
        /** Called before the first pass that takes the change into account; returns the listener for these passes. */
        PassListener follow(Scope scope) throws InterruptedException;
    }

    /** The workloads that passes are about: all that are declared, remembered or left on the machine, and those that are declared. */
    record Scope(ImmutableSortedSet<WorkloadId> all, ImmutableSortedSet<WorkloadId> declared) {
        /** Only those of these workloads. */
        Scope about(ImmutableCollection<WorkloadId> ids) {
            return new Scope(
                    ImmutableSortedSet.copyOf(ids),
                    ImmutableSortedSet.copyOf(Sets.intersection(declared, ImmutableSet.copyOf(ids))));
        }

        static Scope of(DesiredState desired, StateReader store, ImmutableSet<WorkloadId> traces) {
            ImmutableSortedSet<WorkloadId> wanted =
                    ImmutableSortedSet.copyOf(desired.declarations().keySet());
            TreeSet<WorkloadId> all = new TreeSet<>(wanted);
            // These are known even when traces can't be seen, at which a command would give up.
            all.addAll(store.remembered());
            all.addAll(traces);
            return new Scope(ImmutableSortedSet.copyOf(all), wanted);
        }
    }

    private final StateStore store;
    private final WorkloadPass pass;
    private final Reconciler reconciler;
    private final DeclaredState declared;
    private final PassBroadcast broadcast;
    private final Observer observer;
    private final Supplier<Policy> policy;
    private final ReentrantLock declaring = new ReentrantLock();

    /** @param policy asked each time, since it can be configured anew */
    StateUpdates(
            StateStore store,
            WorkloadPass pass,
            Reconciler reconciler,
            DeclaredState declared,
            PassBroadcast broadcast,
            Observer observer,
            Supplier<Policy> policy) {
        this.store = store;
        this.pass = pass;
        this.reconciler = reconciler;
        this.declared = declared;
        this.broadcast = broadcast;
        this.observer = observer;
        this.policy = policy;
    }

    /** Held while what is declared is changed, or acted upon irrevocably. */
    Lock declaring() {
        return declaring;
    }

    /** All that there is something to do about, as things are declared now. */
    Scope scope() {
        return Scope.of(declared.now(), store, traces());
    }

    /**
     * Changes what is declared and has everything looked at. The follower hears only of passes that go by the change.
     *
     * @param change made to the store at once; if it throws, nothing else happens
     */
    Following declare(Consumer<StateStore> change, Follower follower) throws InterruptedException {
        ImmutableSet<WorkloadId> traces = traces();
        AtomicReference<Followed> begun = new AtomicReference<>();
        declaring.lock();
        try {
            pass.amend(() -> {
                change.accept(store);
                DesiredState next = wanted();
                Scope scope = Scope.of(next, store, traces);
                // Before any pass goes by the change; its listener, who may have to be asked for something, hears of it
                // then.
                begun.set(new Followed(scope, broadcast.subscribe(scope.all())));
                become(next);
                return scope.all();
            });
            Followed followed = Objects.requireNonNull(begun.get());
            return follow(followed, follower, followed.scope().all());
        } finally {
            declaring.unlock();
        }
    }

    private record Followed(Scope scope, Following following) {}

    /** Tells a follower of passes from the change on, and has some workloads looked at. */
    private Following follow(Followed followed, Follower follower, ImmutableCollection<WorkloadId> look)
            throws InterruptedException {
        try {
            followed.following().tell(follower.follow(followed.scope()));
        } catch (InterruptedException | RuntimeException e) {
            followed.following().close();
            throw e;
        } finally {
            look(look);
        }
        return followed.following();
    }

    /** @param change says of which workloads it wants to know how they fare, changed or not */
    void declare(Function<StateStore, ImmutableSet<WorkloadId>> change) {
        declaring.lock();
        try {
            ImmutableSet.Builder<WorkloadId> look = ImmutableSet.builder();
            pass.amend(() -> {
                look.addAll(change.apply(store));
                look.addAll(become(wanted()));
                return look.build();
            });
            hint(look.build(), Trigger.REQUEST);
        } finally {
            declaring.unlock();
        }
    }

    /** Makes passes use what is stored by now. */
    void goByWhatIsStored(Trigger trigger) {
        declaring.lock();
        try {
            hint(become(wanted()), trigger);
        } finally {
            declaring.unlock();
        }
    }

    /**
     * Changes what is remembered of some workloads and has them looked at.
     *
     * @param change made to the store at once; if it throws, nothing else happens
     */
    void remember(ImmutableCollection<WorkloadId> ids, Consumer<StateStore> change) {
        pass.amend(ids, () -> change.accept(store));
        look(ids);
    }

    /** As {@link #remember(ImmutableCollection, Consumer)}; the follower hears of the passes that take it into account. */
    Following remember(ImmutableCollection<WorkloadId> ids, Consumer<StateStore> change, Follower follower)
            throws InterruptedException {
        ImmutableSet<WorkloadId> traces = traces();
        AtomicReference<Followed> begun = new AtomicReference<>();
        pass.amend(ids, () -> {
            change.accept(store);
            // Here, too: a pass of any other origin may bring the change about before anybody listens.
            Scope scope = Scope.of(declared.now(), store, traces).about(ids);
            begun.set(new Followed(scope, broadcast.subscribe(scope.all())));
        });
        return follow(Objects.requireNonNull(begun.get()), follower, ids);
    }

    void hint(ImmutableCollection<WorkloadId> ids, Trigger trigger) {
        ids.forEach(id -> reconciler.hint(id, trigger));
    }

    private void look(ImmutableCollection<WorkloadId> ids) {
        hint(ids, Trigger.REQUEST);
    }

    private ImmutableSortedSet<WorkloadId> become(DesiredState next) {
        return declared.become(next);
    }

    private DesiredState wanted() {
        return StoredState.desired(store.declarations()).under(policy.get());
    }

    /** What is left of workloads on the machine. */
    private ImmutableSet<WorkloadId> traces() {
        return switch (observer.traces()) {
            case Observation.Seen<ImmutableSet<WorkloadId>>(var found) -> found;
            case Observation.Unseen<ImmutableSet<WorkloadId>>(String why) -> {
                LOG.warn("what is left of workloads that nobody declares could not be seen: {}", why);
                yield ImmutableSet.of();
            }
        };
    }
}
