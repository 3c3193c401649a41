package io.homeostat.reconcile.runtime.task;

import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.Lifecycle.Limits;
import io.homeostat.desired.model.Structs;
import io.homeostat.desired.model.TaskSpec;
import io.homeostat.desired.model.WorkloadSpec;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.reconcile.plan.Readiness;
import io.homeostat.reconcile.plan.Traits;
import io.homeostat.reconcile.plan.Traits.LaunchInput;
import io.homeostat.reconcile.plan.Traits.Limiting;
import io.homeostat.reconcile.runtime.Machine;
import io.homeostat.reconcile.runtime.RuntimeProvider;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** A task is part of its driver, and outlives it: another launch of the driver takes it up again. */
public final class TaskKind implements RuntimeProvider {
    @Override
    public Kind kind() {
        return Kind.TASK;
    }

    /** What its driver keeps of it, its control groups, its output. */
    @Override
    public boolean leavesRemains() {
        return true;
    }

    /** Its driver does. */
    @Override
    public boolean isMovedByLaunch() {
        return false;
    }

    @Override
    public boolean isCheckedByMachine() {
        return true;
    }

    @Override
    public Traits traits(WorkloadSpec spec) {
        TaskSpec task = (TaskSpec) spec;
        Traits traits = new Traits(inputs(task), null, Limiting.AT_LAUNCH).withParent(task.partOf(), false);
        return task.probe() == null ? traits : traits.withHealth(Readiness.PROBE_SUCCEEDED, Traits.Completion.EXIT);
    }

    private static ImmutableList<LaunchInput> inputs(TaskSpec task) {
        Limits limits = task.lifecycle().limits();
        return ImmutableList.of(
                new LaunchInput("driver", ImmutableList.of(task.driver()), Reason.ENTRY_POINT_CHANGED),
                new LaunchInput("config", parts(task.config()), Reason.CONFIG_CHANGED),
                new LaunchInput(
                        "environment",
                        task.env().entrySet().stream()
                                .map(variable -> variable.getKey() + "=" + variable.getValue())
                                .collect(ImmutableList.toImmutableList()),
                        Reason.ENVIRONMENT_CHANGED),
                new LaunchInput("user", parts(task.user()), Reason.USER_CHANGED),
                new LaunchInput(
                        "limits",
                        ImmutableList.of(
                                Objects.toString(limits.memory()),
                                Objects.toString(limits.memoryMax()),
                                Objects.toString(limits.cpu()),
                                Objects.toString(limits.cores())),
                        Reason.LIMITS_CHANGED),
                new LaunchInput(
                        "network",
                        ImmutableList.of(task.networkMode().name(), task.ports().toString()),
                        Reason.PROCESS_SETTINGS_CHANGED));
    }

    private static ImmutableList<String> parts(@Nullable ObjectNode config) {
        return config == null ? ImmutableList.of() : ImmutableList.of(Structs.canonical(config));
    }

    private static ImmutableList<String> parts(@Nullable String text) {
        return text == null ? ImmutableList.of() : ImmutableList.of(text);
    }

    @Override
    public Access open(Machine machine) {
        Tasks tasks = new Tasks(machine);
        return new Access(new TaskObserver(machine, tasks), () -> new TaskRuntime(machine, tasks));
    }
}
