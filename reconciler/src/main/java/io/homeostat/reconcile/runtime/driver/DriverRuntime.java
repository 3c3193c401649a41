package io.homeostat.reconcile.runtime.driver;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.LocalDisk;
import io.homeostat.actuate.launch.DriverProtocol;
import io.homeostat.actuate.launch.LaunchDirectories;
import io.homeostat.actuate.launch.Sockets;
import io.homeostat.desired.model.DriverSpec;
import io.homeostat.desired.model.Lifecycle;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.desired.yaml.IoReason;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.observe.driver.DriverFailure;
import io.homeostat.observe.driver.DriverSession;
import io.homeostat.observe.driver.DriverSessions;
import io.homeostat.observe.goplugin.Handshake;
import io.homeostat.observe.process.LaunchDirectory;
import io.homeostat.observe.process.ProcessTree.Extent;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.record.Outcome;
import io.homeostat.reconcile.runtime.KindRuntime;
import io.homeostat.reconcile.runtime.KindRuntime.Limitable;
import io.homeostat.reconcile.runtime.KindRuntime.Reloadable;
import io.homeostat.reconcile.runtime.KindRuntime.Signalable;
import io.homeostat.reconcile.runtime.KindRuntime.Startable;
import io.homeostat.reconcile.runtime.Machine;
import io.homeostat.reconcile.runtime.process.ProcessRuntime;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Processes that are drivers. Only the driver itself is stopped, never what it runs. */
final class DriverRuntime implements KindRuntime, Startable, Reloadable, Limitable, Signalable {
    private static final Logger LOG = LoggerFactory.getLogger(DriverRuntime.class);

    private final Layout layout;
    private final DriverSessions sessions;
    private final ProcessRuntime processes;
    private final TaskRecovery recovery;
    private final DriverOutputs outputs;

    DriverRuntime(Machine machine) {
        this.layout = machine.layout();
        this.sessions = machine.drivers();
        this.recovery = new TaskRecovery(machine);
        this.outputs =
                new DriverOutputs(new LaunchDirectories(machine.layout(), machine.procFs()), Ticker.systemTicker());
        this.processes = new ProcessRuntime(
                machine, new DriverProtocol(machine.layout(), machine.procFs(), sessions), Extent.MAIN);
    }

    @Override
    public Creation prepare(Step.Launch step, ImmutableSet<String> known) throws ActuationFailure {
        return processes.prepare(step, known);
    }

    @Override
    public Outcome start(Step.Start step, Instance instance) throws InterruptedException {
        DriverSpec spec = (DriverSpec) step.declared().spec();
        try {
            DriverSession session = sessions.of(instance);
            DriverSession.Info plugin = session.configure(
                    schema -> DriverConfig.converted("spec.config", schema, spec.config()), step.timeout());
            noteName(instance, plugin.name());
            ImmutableList<String> lost = recovery.recover(step.workload().name(), session, step.timeout());
            if (step.trial() && !lost.isEmpty()) {
                // What ran before it can take them up.
                return failed(
                        FailureCause.of(FailureCause.Kind.REFUSED),
                        "it could not take up what runs: " + String.join(", ", lost));
            }
        } catch (DriverFailure e) {
            return failed(e.failureCause(), e.words());
        } catch (Handshake.Refused e) {
            return failed(FailureCause.of(FailureCause.Kind.CONTENT), e.words());
        } catch (IOException e) {
            return failed(FailureCause.of(FailureCause.Kind.INPUT_OUTPUT), IoReason.withFile(e));
        }
        note(instance.withPhase(Phase.STARTED, ""));
        return Outcome.done();
    }

    private static Outcome failed(FailureCause cause, String words) {
        return new Outcome.Failed(cause, "the driver did not start: " + words, false);
    }

    /** The driver has done what it was told; a note that can't be written is no failure of the step. */
    private void note(Instance instance) {
        try {
            processes.note(instance);
        } catch (ActuationFailure e) {
            LOG.warn("[{}] {}", instance.workload().brief(), e.getMessage());
        }
    }

    /** By which it is known again; without it any driver at its socket is taken for it. */
    private void noteName(Instance instance, String name) {
        LaunchDirectory directory = new LaunchDirectory(layout.launch(instance.workload(), instance.launchId()));
        Path whole = directory.pluginNameFile();
        Path begun = whole.resolveSibling(whole.getFileName() + ".new");
        try {
            Files.writeString(begun, name);
            Files.move(begun, whole, StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException e) {
            LOG.warn(
                    "[{}] what it calls itself could not be written down: {}",
                    instance.workload().brief(),
                    IoReason.withFile(e));
        }
    }

    @Override
    public Sending prepareSignal(Instance instance, String signal) {
        return processes.prepareSignal(instance, signal);
    }

    @Override
    public Outcome reload(Step.Reload step, Instance instance) throws ActuationFailure, InterruptedException {
        return processes.reload(step, instance);
    }

    @Override
    public String stop(Instance instance, boolean cleanup, Lifecycle.Stop how)
            throws ActuationFailure, InterruptedException {
        return processes.stop(instance, cleanup, how);
    }

    /** Where its sockets are, the processes of its tasks have theirs, too. */
    @Override
    public void remove(WorkloadId id) throws ActuationFailure {
        try {
            if (!recovery.isNeeded(id.name())) {
                Sockets.deleteOfDriver(layout, new LocalDisk(), id);
            }
        } catch (IOException e) {
            throw new ActuationFailure(
                    "removing the sockets of " + id.brief() + " failed: " + IoReason.withFile(e), false, e);
        }
    }

    @Override
    public void destroy(Instance instance) throws ActuationFailure {
        processes.destroy(instance);
    }

    @Override
    public void upkeep() {
        outputs.bound();
    }

    @Override
    public Outcome limit(Step.SetLimits step, ImmutableList<ObservedInstance> instances) throws ActuationFailure {
        return processes.limit(step, instances);
    }

    @Override
    public void unlimit(WorkloadId id) throws ActuationFailure, InterruptedException {
        processes.unlimit(id);
    }
}
