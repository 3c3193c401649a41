package io.homeostat.reconcile.runtime.process;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.Maps;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.launch.LaunchDirectories;
import io.homeostat.actuate.launch.Launcher;
import io.homeostat.actuate.launch.Launcher.LaunchRequest;
import io.homeostat.actuate.launch.ProcessProtocol;
import io.homeostat.actuate.launch.ProgramVariables;
import io.homeostat.actuate.limits.LimitEnforcer.CgroupPlan;
import io.homeostat.actuate.stop.Stopper;
import io.homeostat.actuate.stop.Stopper.StopRequest;
import io.homeostat.desired.model.EnvValue;
import io.homeostat.desired.model.Lifecycle;
import io.homeostat.desired.model.Program;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Identity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.yaml.IoReason;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.observe.files.FileContent;
import io.homeostat.observe.process.ProcessTree.Extent;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.record.Outcome;
import io.homeostat.reconcile.runtime.KindRuntime;
import io.homeostat.reconcile.runtime.KindRuntime.Limitable;
import io.homeostat.reconcile.runtime.KindRuntime.Reloadable;
import io.homeostat.reconcile.runtime.KindRuntime.Signalable;
import io.homeostat.reconcile.runtime.Machine;
import io.homeostat.reconcile.secrets.LaunchedValues;
import java.io.IOException;
import java.nio.file.Path;

/** Handles instances that are processes of this host. Kinds that also speak a protocol with them build on it. */
public final class ProcessRuntime implements KindRuntime, Reloadable, Limitable, Signalable {
    private final Layout layout;
    private final Launcher launcher;
    private final LaunchDirectories launches;
    private final Stopper stopper;
    private final LimitSteps limits;
    private final LaunchedValues launched;
    private final ReloadSteps reloads;

    /** @param extent which processes belong to an instance, and are limited and stopped with it */
    public ProcessRuntime(Machine machine, ProcessProtocol protocol, Extent extent) {
        this.layout = machine.layout();
        this.launched = machine.launched();
        this.limits = new LimitSteps(layout, machine.procFs(), machine.cgroups(), extent);
        this.reloads = new ReloadSteps(machine.procFs(), machine.cgroups());
        this.launcher = new Launcher(layout, machine.procFs(), protocol, machine.keepers());
        this.launches = new LaunchDirectories(layout, machine.procFs());
        this.stopper = new Stopper(layout, machine.procFs(), protocol, limits.groups(), extent);
    }

    @Override
    public Creation prepare(Step.Launch step, ImmutableSet<String> known) throws ActuationFailure {
        WorkloadId id = step.workload();
        Program program = step.declared().program();
        forgetEnded(id, known);
        ProgramVariables environment = ProgramVariables.read(id, program);
        CgroupPlan groups = limits.prepare(id, step.declared().lifecycle().limits());
        return new Creation() {
            @Override
            public Identity create(Instance instance) throws ActuationFailure, InterruptedException {
                if (!environment.files().isEmpty()) {
                    launched.remember(
                            instance,
                            environment.variables(),
                            Maps.filterValues(program.env(), EnvValue.FromFile.class::isInstance)
                                    .keySet());
                }
                try {
                    return launcher.launch(request(instance, program, environment), groups);
                } catch (ActuationFailure e) {
                    throw limits.explain(id, groups, e);
                }
            }

            @Override
            public ImmutableMap<String, FileContent> files() {
                return environment.files();
            }
        };
    }

    private LaunchRequest request(Instance instance, Program program, ProgramVariables environment) {
        return new LaunchRequest(
                instance,
                executable(instance, program),
                program.arguments(),
                environment.variables(),
                program.user(),
                program.settings());
    }

    private Path executable(Instance instance, Program program) {
        Path entryPoint = Path.of(program.entryPoint());
        String directory = instance.directory();
        return directory == null
                ? entryPoint
                : layout.install(instance.workload(), directory).resolve(entryPoint);
    }

    /** Deletes notes on launches whose end has been stored; they are kept until then so that a crash loses no end. */
    private void forgetEnded(WorkloadId id, ImmutableSet<String> known) throws ActuationFailure {
        try {
            for (String launchId : launches.noted(id)) {
                if (!known.contains(launchId)) {
                    launches.forget(id, launchId);
                }
            }
        } catch (IOException e) {
            throw new ActuationFailure(
                    "could not look at the notes on launches of " + id.brief() + ": " + IoReason.withFile(e), false, e);
        }
    }

    /** Adds to the note of a launch what was learned since; by the note the instance can be adopted without the database. */
    public void note(Instance instance) throws ActuationFailure {
        launches.write(instance);
    }

    @Override
    public String stop(Instance instance, boolean cleanup, Lifecycle.Stop how)
            throws ActuationFailure, InterruptedException {
        return stopper.stop(new StopRequest(instance, cleanup, how)).words();
    }

    @Override
    public void destroy(Instance instance) throws ActuationFailure {
        launches.forget(instance.workload(), instance.launchId());
    }

    @Override
    public Outcome reload(Step.Reload step, Instance instance) throws ActuationFailure, InterruptedException {
        String signal = step.how().signal();
        if (signal != null) {
            return reloads.signal(instance, signal);
        }
        Program program = step.declared().program();
        return reloads.run(step, request(instance, program, ProgramVariables.read(step.workload(), program)));
    }

    /** To its main process. */
    @Override
    public Sending prepareSignal(Instance instance, String signal) {
        return () -> reloads.sendAnyway(instance, signal);
    }

    @Override
    public Outcome limit(Step.SetLimits step, ImmutableList<ObservedInstance> running) throws ActuationFailure {
        return limits.change(step, running);
    }

    @Override
    public void unlimit(WorkloadId id) throws ActuationFailure, InterruptedException {
        limits.lift(id);
    }
}
