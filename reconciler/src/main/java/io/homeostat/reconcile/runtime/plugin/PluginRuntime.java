package io.homeostat.reconcile.runtime.plugin;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.launch.PluginProtocol;
import io.homeostat.desired.model.Lifecycle;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.observe.health.PluginChannel;
import io.homeostat.observe.health.PluginChannel.PluginReply;
import io.homeostat.observe.process.ProcessTree.Extent;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.record.Outcome;
import io.homeostat.reconcile.runtime.KindRuntime;
import io.homeostat.reconcile.runtime.KindRuntime.Configurable;
import io.homeostat.reconcile.runtime.KindRuntime.Limitable;
import io.homeostat.reconcile.runtime.KindRuntime.Reloadable;
import io.homeostat.reconcile.runtime.KindRuntime.Signalable;
import io.homeostat.reconcile.runtime.KindRuntime.Startable;
import io.homeostat.reconcile.runtime.Machine;
import io.homeostat.reconcile.runtime.process.ProcessRuntime;
import java.nio.file.Path;
import java.time.Duration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Processes that serve the plugin protocol on a socket. */
final class PluginRuntime implements KindRuntime, Startable, Configurable, Reloadable, Limitable, Signalable {
    private static final Logger LOG = LoggerFactory.getLogger(PluginRuntime.class);

    /** The plugin protocol's limit on Apply. */
    private static final Duration APPLY_TIMEOUT = Duration.ofSeconds(5);

    private final Layout layout;
    private final PluginChannel plugins;
    private final ProcessRuntime processes;

    /** @param plugins used, not closed */
    PluginRuntime(Machine machine, PluginChannel plugins) {
        this.layout = machine.layout();
        this.plugins = plugins;
        this.processes = new ProcessRuntime(machine, new PluginProtocol(layout, plugins), Extent.TREE);
    }

    @Override
    public Creation prepare(Step.Launch step, ImmutableSet<String> known) throws ActuationFailure {
        return processes.prepare(step, known);
    }

    @Override
    public Outcome start(Step.Start step, Instance instance) throws InterruptedException {
        PluginReply reply =
                plugins.start(socket(instance), layout.workloadState(step.workload()), step.config(), step.timeout());
        if (!(reply instanceof PluginReply.Done)) {
            return new Outcome.Failed(reply.cause(), "the plugin did not start: " + reply.words(), false);
        }
        note(instance.withPhase(Phase.STARTED, step.configHash()));
        return Outcome.done();
    }

    @Override
    public Outcome configure(Step.ApplyConfig step, Instance instance) throws InterruptedException {
        PluginReply reply = plugins.apply(socket(instance), step.config(), APPLY_TIMEOUT);
        return switch (reply) {
            case PluginReply.Done done -> {
                note(instance.withPhase(Phase.STARTED, step.configHash()));
                yield Outcome.done();
            }
            case PluginReply.Unimplemented unimplemented -> new Outcome.Unsupported();
            case PluginReply.Refused refused -> new Outcome.Failed(reply.cause(), reply.words(), false);
            case PluginReply.TimedOut late -> new Outcome.Failed(reply.cause(), reply.words(), false);
            case PluginReply.Unreachable gone -> new Outcome.Failed(reply.cause(), reply.words(), false);
        };
    }

    @Override
    public Sending prepareSignal(Instance instance, String signal) {
        return processes.prepareSignal(instance, signal);
    }

    @Override
    public Outcome reload(Step.Reload step, Instance instance) throws ActuationFailure, InterruptedException {
        return processes.reload(step, instance);
    }

    /** The plugin has done what it was told; a note that can't be written is no failure of the step. */
    private void note(Instance instance) {
        try {
            processes.note(instance);
        } catch (ActuationFailure e) {
            LOG.warn("[{}] {}", instance.workload().brief(), e.getMessage());
        }
    }

    private Path socket(Instance instance) {
        return layout.socket(instance.workload(), instance.revision());
    }

    @Override
    public String stop(Instance instance, boolean cleanup, Lifecycle.Stop how)
            throws ActuationFailure, InterruptedException {
        return processes.stop(instance, cleanup, how);
    }

    @Override
    public void destroy(Instance instance) throws ActuationFailure {
        processes.destroy(instance);
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
