package io.homeostat.reconcile.runtime.plugin;

import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.PluginSpec;
import io.homeostat.desired.model.WorkloadSpec;
import io.homeostat.observe.health.PluginChannel;
import io.homeostat.observe.health.PluginHealth;
import io.homeostat.observe.process.ProcessTree.Extent;
import io.homeostat.reconcile.plan.Readiness;
import io.homeostat.reconcile.plan.Traits;
import io.homeostat.reconcile.runtime.Machine;
import io.homeostat.reconcile.runtime.RuntimeProvider;
import io.homeostat.reconcile.runtime.process.ProcessKind;
import io.homeostat.reconcile.secrets.MaskedHealth;

/** A plugin listens, is told to start, and reports its own health from then on. */
public final class PluginKind implements RuntimeProvider {
    @Override
    public Kind kind() {
        return Kind.PLUGIN;
    }

    @Override
    public boolean isStartedExplicitly() {
        return true;
    }

    @Override
    public Traits traits(WorkloadSpec spec) {
        PluginSpec plugin = (PluginSpec) spec;
        return ProcessKind.traits(plugin.program())
                .withHealth(Readiness.START_ANSWERED, Traits.Completion.STATUS)
                .withConfig(plugin.config());
    }

    @Override
    public Access open(Machine machine) {
        PluginChannel plugins = new PluginChannel(machine.clock());
        PluginHealth health = new PluginHealth(machine.layout(), plugins, machine.clock());
        return new Access(
                ProcessKind.observer(machine, Extent.TREE, new MaskedHealth(health)),
                () -> new PluginRuntime(machine, plugins));
    }
}
