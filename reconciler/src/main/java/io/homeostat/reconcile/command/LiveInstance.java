package io.homeostat.reconcile.command;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedSet;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.source.StoredState;
import io.homeostat.desired.state.Instance;
import io.homeostat.observe.Observation;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.observe.ObservedInstance.Liveness;
import io.homeostat.observe.Observer.Checks;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.output.Text;
import io.homeostat.reconcile.runtime.InstanceObservers;
import io.homeostat.reconcile.runtime.KindRuntime;
import io.homeostat.reconcile.runtime.Runtimes;
import java.util.Comparator;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** What runs of a workload now, for whoever deals with it beside its life. */
final class LiveInstance implements AutoCloseable {
    private final Workspace workspace;
    private final WorkloadId id;
    private final InstanceObservers observers;
    private final Runtimes runtimes;

    LiveInstance(Workspace workspace, WorkloadId id) {
        this.workspace = workspace;
        this.id = id;
        this.observers = workspace.observers(workspace::instances);
        this.runtimes = new Runtimes(observers);
    }

    /**
     * The runtime of its kind, if that can do something.
     *
     * @param able what such runtimes have in common
     * @throws CommandFailure when it can't
     */
    <T> T able(Class<T> able) {
        KindRuntime runtime = runtimes.of(id.kind());
        if (!able.isInstance(runtime)) {
            String others = Kind.all().stream()
                    .filter(kind -> able.isInstance(runtimes.of(kind)))
                    .map(kind -> kind.word() + "/NAME")
                    .collect(Collectors.joining(", "));
            throw new CommandFailure(workspace.word() + " works with " + others + ", and " + id + " is a "
                    + id.kind().title());
        }
        return able.cast(runtime);
    }

    /** @throws CommandFailure when nothing of it runs, or that can't be seen */
    Instance instance() {
        ImmutableList<Instance> remembered = workspace.instances(id).stream()
                .filter(instance -> !instance.isOver())
                .collect(ImmutableList.toImmutableList());
        return switch (observers.of(id.kind()).look(id, remembered, Checks.NONE)) {
            case Observation.Seen<ImmutableList<ObservedInstance>>(var found) ->
                found.stream()
                        .filter(seen -> seen.liveness() instanceof Liveness.Running)
                        .map(ObservedInstance::instance)
                        .max(Comparator.comparing(Instance::launchedAt))
                        .orElseThrow(this::notRunning);
            case Observation.Unseen<ImmutableList<ObservedInstance>>(String why) -> throw new CommandFailure(why);
        };
    }

    private CommandFailure notRunning() {
        ImmutableSortedSet<WorkloadId> known = workspace
                .remembered(reader -> Stream.concat(
                                StoredState.desired(reader.declarations()).declarations().keySet().stream(),
                                reader.instances().stream().map(Instance::workload))
                        .collect(ImmutableSortedSet.toImmutableSortedSet(WorkloadId::compareTo)))
                .orElse(ImmutableSortedSet.of());
        return new CommandFailure(
                known.contains(id)
                        ? id + " does not run; homeostat status " + id + " says why"
                        : id + " is not declared; " + Text.declared(known));
    }

    @Override
    public void close() {
        observers.close();
    }
}
