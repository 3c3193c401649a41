package io.homeostat.reconcile.runtime.kata;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.Config;
import io.homeostat.desired.model.ContainerSpec;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.WorkloadSpec;
import io.homeostat.desired.model.guest.ContainerSettings;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.reconcile.plan.Readiness;
import io.homeostat.reconcile.plan.Traits;
import io.homeostat.reconcile.plan.Traits.LaunchInput;
import io.homeostat.reconcile.plan.Traits.Limiting;
import io.homeostat.reconcile.runtime.Machine;
import io.homeostat.reconcile.runtime.RuntimeProvider;

/** A container is part of its sandbox, and ends with it; its limits, and whether it is paused, are changed in place. */
public final class ContainerKind implements RuntimeProvider {
    @Override
    public Kind kind() {
        return Kind.CONTAINER;
    }

    /** Its agent does. */
    @Override
    public boolean isMovedByLaunch() {
        return false;
    }

    /** What its agent keeps of it, our notes, and connections. */
    @Override
    public boolean leavesRemains() {
        return true;
    }

    @Override
    public Traits traits(WorkloadSpec spec) {
        ContainerSpec container = (ContainerSpec) spec;
        return new Traits(inputs(container.container()), null, Limiting.AT_LAUNCH)
                .withHealth(
                        container.probe() == null ? Readiness.STAYED_ALIVE : Readiness.PROBE_SUCCEEDED,
                        Traits.Completion.EXIT)
                .withLimits(
                        new Config(container.inPlace().toString(), null),
                        container.inPlace().limits())
                .withParent(container.partOf(), true);
    }

    private static ImmutableList<LaunchInput> inputs(ContainerSettings container) {
        ContainerSettings.Program program = container.program();
        return ImmutableList.of(
                new LaunchInput("sandbox", ImmutableList.of(container.sandbox()), Reason.SANDBOX_CHANGED),
                new LaunchInput("arguments", program.command(), Reason.ARGUMENTS_CHANGED),
                new LaunchInput(
                        "environment",
                        program.env().entrySet().stream()
                                .map(variable -> variable.getKey() + "=" + variable.getValue())
                                .collect(ImmutableList.toImmutableList()),
                        Reason.ENVIRONMENT_CHANGED),
                new LaunchInput("user", ImmutableList.of(program.user().toString()), Reason.USER_CHANGED),
                new LaunchInput("settings", container.parts(), Reason.PROCESS_SETTINGS_CHANGED));
    }

    @Override
    public Access open(Machine machine) {
        Containers containers = new Containers(machine);
        return new Access(new ContainerObserver(machine, containers), () -> new ContainerRuntime(machine, containers));
    }
}
