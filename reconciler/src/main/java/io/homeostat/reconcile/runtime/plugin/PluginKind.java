package io.homeostat.reconcile.runtime.plugin;

import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.PluginSpec;
import io.homeostat.desired.model.WorkloadSpec;
import io.homeostat.observe.Observer.InstanceObserver;
import io.homeostat.observe.health.PluginHealth;
import io.homeostat.reconcile.plan.Readiness;
import io.homeostat.reconcile.plan.Traits;
import io.homeostat.reconcile.runtime.KindRuntime;
import io.homeostat.reconcile.runtime.RuntimeProvider;
import io.homeostat.reconcile.runtime.process.ProcessKind;
import java.util.Optional;

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
        return new Traits(
                start(),
                Readiness.START_ANSWERED,
                Traits.Completion.STATUS,
                plugin.config(),
                true,
                ProcessKind.inputs(plugin.program()),
                plugin.program().entryPoint(),
                Optional.empty(),
                false);
    }

    @Override
    public InstanceObserver observer(Machine machine) {
        return ProcessKind.observer(machine, new PluginHealth(machine.layout(), machine.plugins(), machine.clock()));
    }

    @Override
    public KindRuntime runtime(Machine machine) {
        return new PluginRuntime(machine);
    }
}
