package io.homeostat.reconcile.agent;

import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.ProcessIdentity;
import io.homeostat.desired.state.StateReader;
import io.homeostat.observe.process.ExitWatcher;
import io.homeostat.reconcile.loop.PassListener;
import io.homeostat.reconcile.loop.PassResult;
import io.homeostat.reconcile.plan.Step;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.function.Consumer;
import java.util.stream.Stream;

/** After each pass watches the processes that the workload has now, launched by this agent or by one before it, and tells of their ends. */
final class ExitHints implements PassListener, AutoCloseable {
    private final ExitWatcher watcher;
    private final StateReader store;
    private final Consumer<WorkloadId> onExit;
    private final ConcurrentMap<WorkloadId, ImmutableSet<ProcessIdentity>> watched = new ConcurrentHashMap<>();

    /** @param watcher closed with this */
    ExitHints(ExitWatcher watcher, StateReader store, Consumer<WorkloadId> onExit) {
        this.watcher = watcher;
        this.store = store;
        this.onExit = onExit;
    }

    @Override
    public void starting(Step step) {}

    @Override
    public void finished(WorkloadId id, PassResult next) {
        ImmutableSet<ProcessIdentity> processes = store.instances(id).stream()
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
        watcher.close();
    }
}
