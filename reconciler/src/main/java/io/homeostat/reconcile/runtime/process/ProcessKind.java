package io.homeostat.reconcile.runtime.process;

import com.google.common.collect.ImmutableList;
import io.homeostat.actuate.launch.ProcessProtocol;
import io.homeostat.desired.model.EnvValue;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.ProcessSpec;
import io.homeostat.desired.model.Program;
import io.homeostat.desired.model.WorkloadSpec;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.observe.InstanceObserver;
import io.homeostat.observe.ProcessInstances;
import io.homeostat.observe.ProcessInstances.InstanceHealth;
import io.homeostat.observe.files.FileContent.Use;
import io.homeostat.observe.health.ProbeHealth;
import io.homeostat.observe.limits.AgentGroup;
import io.homeostat.observe.limits.LimitObserver;
import io.homeostat.observe.process.PortOwners;
import io.homeostat.observe.process.ProcessTree.Extent;
import io.homeostat.reconcile.plan.Readiness;
import io.homeostat.reconcile.plan.Traits;
import io.homeostat.reconcile.plan.Traits.LaunchFile;
import io.homeostat.reconcile.plan.Traits.LaunchInput;
import io.homeostat.reconcile.plan.Traits.Limiting;
import io.homeostat.reconcile.runtime.Machine;
import io.homeostat.reconcile.runtime.RuntimeProvider;
import io.homeostat.reconcile.secrets.MaskedHealth;

/** A process runs once it is launched; only a probe can tell its health. */
public final class ProcessKind implements RuntimeProvider {
    @Override
    public Kind kind() {
        return Kind.PROCESS;
    }

    @Override
    public Traits traits(WorkloadSpec spec) {
        ProcessSpec process = (ProcessSpec) spec;
        Traits traits = traits(process.program());
        return process.probe() == null ? traits : traits.withHealth(Readiness.PROBE_SUCCEEDED, Traits.Completion.EXIT);
    }

    @Override
    public Access open(Machine machine) {
        PortOwners owners = new PortOwners(machine.layout(), machine.procFs(), new LimitObserver(machine.cgroups()));
        return new Access(
                observer(
                        machine,
                        Extent.TREE,
                        new MaskedHealth(
                                new ProbeHealth(machine.clock(), owners, () -> AgentGroup.apart(machine.cgroups())))),
                () -> new ProcessRuntime(machine, ProcessProtocol.NONE, Extent.TREE));
    }

    /** Sees instances that are processes of this host; {@code extent} is what belongs to each, {@code health} checks those that run. */
    public static InstanceObserver observer(Machine machine, Extent extent, InstanceHealth health) {
        return new ProcessInstances(
                machine.layout(),
                machine.procFs(),
                machine.clock(),
                new LimitObserver(machine.cgroups()),
                extent,
                machine.unknown(),
                health);
    }

    /** Those of a program as such: what of it can't change while it runs, and that its limits can, and what it is made to read again. */
    public static Traits traits(Program program) {
        return new Traits(inputs(program), program.entryPoint(), Limiting.IN_PLACE).withReload(program.reload());
    }

    private static ImmutableList<LaunchInput> inputs(Program program) {
        String user = program.user();
        return ImmutableList.of(
                new LaunchInput("arguments", program.arguments(), Reason.ARGUMENTS_CHANGED),
                new LaunchInput("entryPoint", ImmutableList.of(program.entryPoint()), Reason.ENTRY_POINT_CHANGED),
                new LaunchInput(
                        "environment",
                        environment(program),
                        Reason.ENVIRONMENT_CHANGED,
                        false,
                        environmentFiles(program)),
                new LaunchInput(
                        "user", user == null ? ImmutableList.of() : ImmutableList.of(user), Reason.USER_CHANGED),
                new LaunchInput("settings", program.settings().parts(), Reason.PROCESS_SETTINGS_CHANGED, true));
    }

    /** What is in files is marked by a NUL, which no value has. */
    private static ImmutableList<String> environment(Program program) {
        ImmutableList.Builder<String> parts = ImmutableList.builder();
        program.env()
                .forEach((name, value) -> parts.add(name + "="
                        + switch (value) {
                            case EnvValue.Text(String text) -> text;
                            case EnvValue.FromFile(String path) -> "\0" + path;
                        }));
        if (program.envFiles() != null) {
            program.envFiles().forEach(path -> parts.add("\0" + path));
        }
        return parts.build();
    }

    private static ImmutableList<LaunchFile> environmentFiles(Program program) {
        ImmutableList.Builder<LaunchFile> files = ImmutableList.builder();
        if (program.envFiles() != null) {
            program.envFiles().forEach(path -> files.add(new LaunchFile("spec.envFiles", path, Use.VARIABLES)));
        }
        program.env().forEach((name, value) -> {
            if (value instanceof EnvValue.FromFile(String path)) {
                files.add(new LaunchFile("spec.env." + name, path, Use.VALUE));
            }
        });
        return files.build();
    }
}
