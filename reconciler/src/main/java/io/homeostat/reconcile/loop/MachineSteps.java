package io.homeostat.reconcile.loop;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.fetch.Progress;
import io.homeostat.actuate.install.Activator;
import io.homeostat.actuate.install.GarbageCollector;
import io.homeostat.actuate.install.Remover;
import io.homeostat.actuate.launch.LaunchDirectories;
import io.homeostat.actuate.launch.LaunchRequest;
import io.homeostat.actuate.launch.Launcher;
import io.homeostat.actuate.limits.CgroupPlan;
import io.homeostat.actuate.stop.StopRequest;
import io.homeostat.actuate.stop.Stopper;
import io.homeostat.desired.model.ConfigHash;
import io.homeostat.desired.model.Program;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Change;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Phase;
import io.homeostat.desired.state.StateStore;
import io.homeostat.observe.Observation;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.observe.ObservedInstance.Liveness;
import io.homeostat.observe.ObservedWorkload;
import io.homeostat.observe.health.PluginChannel;
import io.homeostat.observe.health.PluginReply;
import io.homeostat.observe.limits.CgroupLayout;
import io.homeostat.observe.process.ProcFs;
import io.homeostat.reconcile.plan.Outcome;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.plan.Work;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.UUID;
import java.util.function.Function;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Does steps to the real machine: which verb of the actuators a step is, and what is written down before it. */
public final class MachineSteps implements StepExecutor, AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(MachineSteps.class);

    /** The plugin protocol's limit on Apply. */
    private static final Duration APPLY_TIMEOUT = Duration.ofSeconds(5);

    /** For what a failed launch may have left behind: it has not begun its work. */
    private static final Duration UNDO_TIMEOUT = Duration.ofSeconds(2);

    private final Layout layout;
    private final StateStore store;
    private final PluginChannel plugins;
    private final InstantSource clock;
    private final ArchiveSteps fetching;
    private final Activator activator;
    private final Launcher launcher;
    private final LaunchDirectories launches;
    private final Stopper stopper;
    private final LimitSteps confinement;
    private final GarbageCollector garbage;
    private final Remover remover;

    /**
     * @param plugins used, not closed
     * @param archives asked at each archive, since they can be configured anew
     * @param progress who hears how far a workload's download is
     */
    public MachineSteps(
            Layout layout,
            ProcFs procFs,
            StateStore store,
            PluginChannel plugins,
            InstantSource clock,
            Supplier<ArchiveRules> archives,
            Function<WorkloadId, Progress> progress) {
        this.layout = layout;
        this.store = store;
        this.plugins = plugins;
        this.clock = clock;
        this.confinement = new LimitSteps(layout, procFs, CgroupLayout.detect(layout));
        this.fetching = new ArchiveSteps(layout, archives, progress);
        this.activator = new Activator(layout);
        this.launcher = new Launcher(layout, procFs);
        this.launches = new LaunchDirectories(layout, procFs);
        this.stopper = new Stopper(layout, procFs, plugins, confinement.groups());
        this.garbage = new GarbageCollector(layout);
        this.remover = new Remover(layout);
    }

    @Override
    public Outcome execute(Step step, ObservedWorkload seen) {
        Outcome outcome = outcome(step, seen);
        LOG.debug("[{}] {}: {}", step.workload(), step.word(), outcome);
        return outcome;
    }

    private Outcome outcome(Step step, ObservedWorkload seen) {
        try {
            return switch (step) {
                case Step.Download download -> fetching.download(download);
                case Step.Unpack unpack -> fetching.unpack(unpack);
                case Step.Activate activate -> activate(activate);
                case Step.Launch launch -> launch(launch, seen);
                case Step.Start start -> start(start, onlyInstance(seen));
                case Step.ApplyConfig apply -> applyConfig(apply, onlyInstance(seen));
                case Step.SetLimits limit -> confinement.change(limit, processes(seen));
                case Step.Stop stop -> stop(stop);
                case Step.Remove remove -> remove(remove);
                case Step.CollectGarbage collect -> collect(collect);
                case Step.Wait waiting -> throw new IllegalArgumentException("a wait is not executed");
            };
        } catch (ActuationFailure e) {
            return new Outcome.Failed(e.failureCause(), String.valueOf(e.getMessage()), e.fatal());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return new Outcome.Interrupted();
        }
    }

    private Outcome activate(Step.Activate step) throws ActuationFailure {
        if (step.directory() == null) {
            activator.deactivate(step.workload());
        } else {
            activator.activate(step.workload(), step.directory());
        }
        return Outcome.done();
    }

    private Outcome launch(Step.Launch step, ObservedWorkload seen) throws ActuationFailure, InterruptedException {
        WorkloadId id = step.workload();
        Program program = step.declared().program();
        forgetEnded(id, seen);
        CgroupPlan groups = confinement.prepare(id, step.declared().lifecycle().limits());
        Instance instance = new Instance(
                UUID.randomUUID().toString(),
                id,
                step.hash(),
                program.revision(),
                step.directory(),
                Work.inputs(step.declared()),
                clock.instant(),
                null,
                Phase.INTENDED,
                "");
        // Before there is a process: one that nobody remembers could run for ever beside its successor.
        store.commit(Change.ofInstance(instance));
        LaunchRequest request =
                new LaunchRequest(instance, executable(step), program.arguments(), program.env(), program.user());
        try {
            return Outcome.launched(instance.withIdentity(launcher.launch(request, groups)));
        } catch (ActuationFailure e) {
            undo(instance);
            throw confinement.explain(id, groups, e);
        }
    }

    /** Notes on launches whose end is stored: kept until now, so that a crash in between loses no end. */
    private void forgetEnded(WorkloadId id, ObservedWorkload seen) throws ActuationFailure {
        ImmutableSet<String> kept = processes(seen).stream()
                .filter(process -> process.remembered() || !(process.liveness() instanceof Liveness.Ended))
                .map(process -> process.instance().launchId())
                .collect(ImmutableSet.toImmutableSet());
        try {
            for (String launchId : launches.noted(id)) {
                if (!kept.contains(launchId)) {
                    launches.forget(id, launchId);
                }
            }
        } catch (IOException e) {
            throw new ActuationFailure("could not look at the notes on launches of " + id + ": " + e, false, e);
        }
    }

    private Path executable(Step.Launch step) {
        Path entryPoint = Path.of(step.declared().program().entryPoint());
        String directory = step.directory();
        return directory == null
                ? entryPoint
                : layout.install(step.workload(), directory).resolve(entryPoint);
    }

    /** Makes sure that no process comes of a launch that failed, and forgets it. */
    private void undo(Instance instance) throws InterruptedException {
        try {
            stopper.stop(new StopRequest(instance, false, UNDO_TIMEOUT));
            store.commit(new Change(
                    instance.workload(),
                    null,
                    false,
                    ImmutableList.of(),
                    ImmutableList.of(instance.launchId()),
                    ImmutableList.of()));
            launches.forget(instance.workload(), instance.launchId());
        } catch (ActuationFailure e) {
            LOG.warn(
                    "[{}] what a failed launch left behind is dealt with at the next look: {}",
                    instance.workload(),
                    e.getMessage());
        }
    }

    private Outcome start(Step.Start step, Instance instance) throws InterruptedException {
        // Before it is sent: if we don't live to hear the answer, it must not be sent a second time.
        store.commit(Change.ofInstance(instance.withPhase(Phase.START_SENT, "")));
        PluginReply reply =
                plugins.start(socket(instance), layout.workloadState(step.workload()), step.config(), step.timeout());
        if (!(reply instanceof PluginReply.Done)) {
            return new Outcome.Failed(reply.cause(), "the plugin did not start: " + reply.words(), false);
        }
        note(instance.withPhase(Phase.STARTED, ConfigHash.of(step.config())));
        return Outcome.done();
    }

    private Outcome applyConfig(Step.ApplyConfig step, Instance instance) throws InterruptedException {
        PluginReply reply = plugins.apply(socket(instance), step.config(), APPLY_TIMEOUT);
        return switch (reply) {
            case PluginReply.Done done -> {
                note(instance.withPhase(Phase.STARTED, ConfigHash.of(step.config())));
                yield Outcome.done();
            }
            case PluginReply.Unimplemented unimplemented -> new Outcome.Unsupported();
            case PluginReply.Refused refused -> new Outcome.Failed(reply.cause(), reply.words(), false);
            case PluginReply.TimedOut late -> new Outcome.Failed(reply.cause(), reply.words(), false);
            case PluginReply.Unreachable gone -> new Outcome.Failed(reply.cause(), reply.words(), false);
        };
    }

    /** Keeps the note beside a launch true, by which it would be adopted without the database. */
    private void note(Instance instance) {
        try {
            launches.write(instance);
        } catch (ActuationFailure e) {
            LOG.warn("[{}] {}", instance.workload(), e.getMessage());
        }
    }

    private Path socket(Instance instance) {
        return layout.socket(instance.workload(), instance.revision());
    }

    private Outcome stop(Step.Stop step) throws ActuationFailure, InterruptedException {
        return Outcome.done(stopper.stop(new StopRequest(step.instance(), step.cleanup(), step.timeout()))
                .words());
    }

    private Outcome remove(Step.Remove step) throws ActuationFailure, InterruptedException {
        // Before the rest: as long as that is there, what is left of them brings the next pass back.
        confinement.lift(step.workload());
        remover.remove(step.workload());
        return Outcome.done();
    }

    private Outcome collect(Step.CollectGarbage step) throws ActuationFailure {
        garbage.collect(step.workload(), step.directories());
        return Outcome.done();
    }

    private static Instance onlyInstance(ObservedWorkload seen) {
        ImmutableList<ObservedInstance> processes = processes(seen);
        if (processes.size() != 1) {
            throw new IllegalStateException("not exactly one process of " + seen.id() + ": " + processes.size());
        }
        return processes.getFirst().instance();
    }

    private static ImmutableList<ObservedInstance> processes(ObservedWorkload seen) {
        return switch (seen.processes()) {
            case Observation.Seen<ImmutableList<ObservedInstance>>(var processes) -> processes;
            case Observation.Unseen<ImmutableList<ObservedInstance>>(String why) ->
                throw new IllegalStateException("a step although blind: " + why);
        };
    }

    @Override
    public void close() {
        fetching.close();
    }
}
