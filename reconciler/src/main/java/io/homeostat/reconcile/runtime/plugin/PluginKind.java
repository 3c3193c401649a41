package io.homeostat.reconcile.runtime.plugin;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.PluginSpec;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.model.WorkloadSpec;
import io.homeostat.desired.state.Instance;
import io.homeostat.observe.Observation;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.observe.Observer.Checks;
import io.homeostat.observe.Observer.InstanceObserver;
import io.homeostat.observe.health.PluginChannel;
import io.homeostat.observe.health.PluginHealth;
import io.homeostat.observe.limits.ObservedLimits;
import io.homeostat.reconcile.plan.Readiness;
import io.homeostat.reconcile.plan.Traits;
import io.homeostat.reconcile.runtime.KindRuntime;
import io.homeostat.reconcile.runtime.RuntimeProvider;
import io.homeostat.reconcile.runtime.process.ProcessKind;

/** A plugin listens, is told to start, and reports its own health from then on. */
public final class PluginKind implements RuntimeProvider {
    @Override
    public Kind kind() {
        return Kind.PLUGIN;
    }

    @Override
    public Traits.Start start() {
        return Traits.Start.EXPLICIT;
    }

    @Override
    public Traits traits(WorkloadSpec spec) {
        PluginSpec plugin = (PluginSpec) spec;
        return ProcessKind.traits(plugin.program())
                .withStart(start(), Readiness.START_ANSWERED)
                .withCompletion(Traits.Completion.STATUS)
                .withConfig(plugin.config());
    }

    @Override
    public InstanceObserver observer(Machine machine) {
        PluginChannel plugins = new PluginChannel(machine.clock());
        return new PluginInstances(
                ProcessKind.observer(machine, new PluginHealth(machine.layout(), plugins, machine.clock())), plugins);
    }

    @Override
    public KindRuntime runtime(Machine machine, InstanceObserver observer) {
        return new PluginRuntime(machine, ((PluginInstances) observer).plugins());
    }

    /** Sees the processes that plugins are. */
    private record PluginInstances(InstanceObserver processes, PluginChannel plugins) implements InstanceObserver {
        @Override
        public Observation<ImmutableList<ObservedInstance>> look(
                WorkloadId id, ImmutableList<Instance> instances, Checks checks) {
            return processes.look(id, instances, checks);
        }

        @Override
        public Observation<ObservedLimits> limits(WorkloadId id, ImmutableList<ObservedInstance> found) {
            return processes.limits(id, found);
        }

        @Override
        public void close() {
            processes.close();
            plugins.close();
        }
    }
}
