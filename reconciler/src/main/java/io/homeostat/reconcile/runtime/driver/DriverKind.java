package io.homeostat.reconcile.runtime.driver;

import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.DriverSpec;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.Structs;
import io.homeostat.desired.model.WorkloadSpec;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.observe.InstanceObserver;
import io.homeostat.observe.driver.DriverHealth;
import io.homeostat.observe.process.ProcessTree.Extent;
import io.homeostat.reconcile.plan.Readiness;
import io.homeostat.reconcile.plan.Traits;
import io.homeostat.reconcile.plan.Traits.LaunchInput;
import io.homeostat.reconcile.runtime.Machine;
import io.homeostat.reconcile.runtime.RuntimeProvider;
import io.homeostat.reconcile.runtime.process.ProcessKind;
import io.homeostat.reconcile.secrets.MaskedHealth;
import org.jspecify.annotations.Nullable;

/** A driver prints its handshake, is set up once, and says from then on whether it can run tasks. What it runs goes on without it. */
public final class DriverKind implements RuntimeProvider {
    @Override
    public Kind kind() {
        return Kind.DRIVER;
    }

    @Override
    public boolean isStartedExplicitly() {
        return true;
    }

    @Override
    public boolean isCheckedByMachine() {
        return true;
    }

    @Override
    public Traits traits(WorkloadSpec spec) {
        DriverSpec driver = (DriverSpec) spec;
        return ProcessKind.traits(driver.program())
                .with(new LaunchInput("config", config(driver.config()), Reason.CONFIG_CHANGED))
                .withHealth(Readiness.HANDSHAKE_AND_START_ANSWERED, Traits.Completion.EXIT);
    }

    /** A driver takes its configuration only once. In which order its keys are written is no change of it. */
    private static ImmutableList<String> config(@Nullable ObjectNode config) {
        return config == null ? ImmutableList.of() : ImmutableList.of(Structs.canonical(config));
    }

    @Override
    public Access open(Machine machine) {
        DriverHealth health = new DriverHealth(machine.drivers(), machine.clock());
        InstanceObserver processes = ProcessKind.observer(machine, Extent.MAIN, new MaskedHealth(health));
        return new Access(new DriverObserver(processes, new RunningDrivers(machine)), () -> new DriverRuntime(machine));
    }
}
