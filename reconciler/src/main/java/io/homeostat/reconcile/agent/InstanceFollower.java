package io.homeostat.reconcile.agent;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Identity;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.StateReader;
import io.homeostat.observe.process.ExitWatcher;
import io.homeostat.observe.usage.UsageSampler;
import io.homeostat.reconcile.loop.DesiredSource;
import io.homeostat.reconcile.loop.PassListener;
import io.homeostat.reconcile.loop.PassResult;
import io.homeostat.reconcile.runtime.InstanceObservers;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * After each pass, follows the workload's present instances, whoever launched them: waits for their ends, and samples their usage while
 * the workload is declared.
 */
final class InstanceFollower implements PassListener, AutoCloseable {
    private final @Nullable ExitWatcher processes;
    private final InstanceObservers others;
    private final UsageSampler sampler;
    private final StateReader store;
    private final DesiredSource declared;
    private final Consumer<WorkloadId> onEnd;
    private final Runnable onSooner;
    private final ConcurrentMap<WorkloadId, ImmutableSet<Identity>> watched = new ConcurrentHashMap<>();

    /**
     * @param processes closed with this; null: ends are not waited for
     * @param others wait for the ends of what is no process; used, not closed
     * @param onSooner called when the sampler has something to do sooner than it had
     */
    InstanceFollower(
            @Nullable ExitWatcher processes,
            InstanceObservers others,
            UsageSampler sampler,
            StateReader store,
            DesiredSource declared,
            Consumer<WorkloadId> onEnd,
            Runnable onSooner) {
        this.processes = processes;
        this.others = others;
        this.sampler = sampler;
        this.store = store;
        this.declared = declared;
        this.onEnd = onEnd;
        this.onSooner = onSooner;
    }

    @Override
    public void finished(WorkloadId id, PassResult result) {
        ImmutableList<Instance> instances = store.instances(id).stream()
                .filter(instance -> !instance.isOver())
                .collect(ImmutableList.toImmutableList());
        Optional<Declaration> wanted = declared.declaration(id);
        if (wanted.isEmpty()) {
            sampler.forget(id);
        } else if (sampler.follow(id, wanted.get().workload().lifecycle().metrics(), instances)) {
            onSooner.run();
        }
        if (processes != null) {
            watch(id, instances, processes);
        }
    }

    private void watch(WorkloadId id, ImmutableList<Instance> instances, ExitWatcher processes) {
        ImmutableSet<Identity> known = instances.stream()
                .map(Instance::identity)
                .flatMap(Stream::ofNullable)
                .collect(ImmutableSet.toImmutableSet());
        ImmutableSet<Identity> before = known.isEmpty() ? watched.remove(id) : watched.put(id, known);
        for (Instance instance : instances) {
            Identity identity = instance.identity();
            if (identity == null || (before != null && before.contains(identity))) {
                continue;
            }
            if (identity instanceof ProcessIdentity process) {
                processes.watch(process, () -> onEnd.accept(id));
            } else {
                others.watch(instance, () -> onEnd.accept(id));
            }
        }
    }

    @Override
    public void close() {
        if (processes != null) {
            processes.close();
        }
    }
}
