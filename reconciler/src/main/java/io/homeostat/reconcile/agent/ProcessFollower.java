package io.homeostat.reconcile.agent;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.StateReader;
import io.homeostat.observe.process.ExitWatcher;
import io.homeostat.observe.usage.UsageSampler;
import io.homeostat.reconcile.loop.DesiredSource;
import io.homeostat.reconcile.loop.PassListener;
import io.homeostat.reconcile.loop.PassResult;
import io.homeostat.reconcile.plan.Step;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * After each pass, follows the workload's present instances, whoever launched them: watches for their exits, and samples their usage
 * while the workload is declared.
 */
final class ProcessFollower implements PassListener, AutoCloseable {
    private final @Nullable ExitWatcher watcher;
    private final UsageSampler sampler;
    private final StateReader store;
    private final DesiredSource declared;
    private final Consumer<WorkloadId> onExit;
    private final ConcurrentMap<WorkloadId, ImmutableSet<ProcessIdentity>> watched = new ConcurrentHashMap<>();

    /** @param watcher closed with this; null: exits are not watched */
    ProcessFollower(
            @Nullable ExitWatcher watcher,
            UsageSampler sampler,
            StateReader store,
            DesiredSource declared,
            Consumer<WorkloadId> onExit) {
        this.watcher = watcher;
        this.sampler = sampler;
        this.store = store;
        this.declared = declared;
        this.onExit = onExit;
    }

    @Override
    public void starting(Step step) {}

    @Override
    public void finished(WorkloadId id, PassResult result) {
        ImmutableList<Instance> instances = store.instances(id);
        declared.declaration(id)
                .ifPresentOrElse(
                        wanted ->
                                sampler.follow(id, wanted.workload().lifecycle().metrics(), instances),
                        () -> sampler.forget(id));
        if (watcher != null) {
            watch(id, instances, watcher);
        }
    }

    private void watch(WorkloadId id, ImmutableList<Instance> instances, ExitWatcher watcher) {
        ImmutableSet<ProcessIdentity> processes = instances.stream()
                .map(Instance::process)
                .flatMap(Stream::ofNullable)
                .collect(ImmutableSet.toImmutableSet());
        ImmutableSet<ProcessIdentity> before = processes.isEmpty() ? watched.remove(id) : watched.put(id, processes);
        for (ProcessIdentity process : processes) {
            if (before == null || !before.contains(process)) {
                watcher.watch(process, () -> onExit.accept(id));
            }
        }
    }

    @Override
    public void broken(WorkloadId id, Throwable problem) {}

    @Override
    public void close() {
        if (watcher != null) {
            watcher.close();
        }
    }
}
