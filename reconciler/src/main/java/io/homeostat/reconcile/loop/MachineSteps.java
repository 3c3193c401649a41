package io.homeostat.reconcile.loop;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.StateMounts;
import io.homeostat.actuate.archive.ArrivingArchive;
import io.homeostat.actuate.archive.SignatureCheck;
import io.homeostat.actuate.archive.SignatureCheck.SignaturePolicy;
import io.homeostat.actuate.fetch.Downloader;
import io.homeostat.actuate.fetch.Downloader.DownloadLimits;
import io.homeostat.actuate.fetch.Downloader.Progress;
import io.homeostat.actuate.install.Activator;
import io.homeostat.actuate.install.GarbageCollector;
import io.homeostat.actuate.install.Remover;
import io.homeostat.actuate.unpack.UnpackLimits;
import io.homeostat.actuate.unpack.Unpacker;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.model.Lifecycle;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.LargeWork;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.StateStore.Change;
import io.homeostat.observe.Observation;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.observe.ObservedInstance.Liveness;
import io.homeostat.observe.ObservedWorkload;
import io.homeostat.reconcile.plan.KindTraits;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.plan.Traits;
import io.homeostat.reconcile.plan.WatchedFiles;
import io.homeostat.reconcile.record.Outcome;
import io.homeostat.reconcile.runtime.KindRuntime;
import io.homeostat.reconcile.runtime.KindRuntime.Configurable;
import io.homeostat.reconcile.runtime.KindRuntime.Limitable;
import io.homeostat.reconcile.runtime.KindRuntime.Reloadable;
import io.homeostat.reconcile.runtime.KindRuntime.Startable;
import io.homeostat.reconcile.runtime.Runtimes;
import java.time.Duration;
import java.time.InstantSource;
import java.util.UUID;
import java.util.function.Function;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Executes steps with actuators and runtimes, and stores beforehand what must survive a crash. */
public final class MachineSteps implements StepExecutor, AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(MachineSteps.class);

    /** For leftovers of a failed launch, which have not begun to work. */
    private static final Duration UNDO_TIMEOUT = Duration.ofSeconds(2);

    private final StateStore store;
    private final Runtimes runtimes;
    private final InstantSource clock;
    private final Downloader downloader;
    private final SignatureCheck signatures;
    private final Unpacker unpacker;
    private final Function<WorkloadId, Progress> progress;
    private final Activator activator;
    private final GarbageCollector garbage;
    private final Remover remover;
    private final StateMounts mounts;

    /**
     * @param runtimes used, not closed
     * @param archives asked for each archive, since the configuration can change
     * @param progress receives how far a workload's download is
     */
    public MachineSteps(
            Layout layout,
            StateStore store,
            Runtimes runtimes,
            InstantSource clock,
            Supplier<ArchiveRules> archives,
            Function<WorkloadId, Progress> progress) {
        this.store = store;
        this.runtimes = runtimes;
        this.clock = clock;
        this.downloader = new Downloader(layout, () -> archives.get().download());
        this.signatures = new SignatureCheck(layout, () -> archives.get().trust());
        this.unpacker = new Unpacker(layout, () -> archives.get().unpack(), LargeWork.LOCK);
        this.progress = progress;
        this.activator = new Activator(layout);
        this.garbage = new GarbageCollector(layout);
        this.remover = new Remover(layout);
        this.mounts = new StateMounts(layout);
    }

    @Override
    public Outcome execute(Step step, ObservedWorkload seen) {
        Outcome outcome = outcome(step, seen);
        LOG.debug("[{}] {}: {}", step.workload().brief(), step.word(), outcome);
        return outcome;
    }

    private Outcome outcome(Step step, ObservedWorkload seen) {
        try {
            return switch (step) {
                case Step.Download download -> download(download);
                case Step.Unpack unpack -> unpack(unpack);
                case Step.Activate activate -> activate(activate);
                case Step.Launch launch -> launch(launch, seen);
                case Step.Start start -> runtimes.masked(start.declared(), start(start, onlyInstance(seen)), store);
                case Step.ApplyConfig apply ->
                    runtimes.masked(
                            apply.declared(),
                            able(Configurable.class, apply.workload()).configure(apply, onlyInstance(seen)),
                            store);
                case Step.Reload reload ->
                    able(Reloadable.class, reload.workload()).reload(reload, onlyInstance(seen));
                case Step.SetLimits limit ->
                    able(Limitable.class, limit.workload()).limit(limit, instances(seen));
                case Step.Stop stop -> stop(stop);
                case Step.Remove remove -> remove(remove);
                case Step.CollectGarbage collect -> collect(collect);
                case Step.Reboot reboot -> throw new IllegalArgumentException("a reboot is done by what is booted");
                case Step.Wait waiting -> throw new IllegalArgumentException("a wait is not executed");
            };
        } catch (ActuationFailure e) {
            Outcome failed = new Outcome.Failed(e.failureCause(), String.valueOf(e.getMessage()), e.fatal());
            // Whoever runs it for us may quote what it was given.
            return switch (step) {
                case Step.Launch launch -> runtimes.masked(launch.declared(), failed, store);
                case Step.ApplyConfig apply -> runtimes.masked(apply.declared(), failed, store);
                default -> failed;
            };
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return new Outcome.Interrupted();
        }
    }

    private Outcome download(Step.Download step) throws ActuationFailure, InterruptedException {
        downloader.download(
                step.key(), step.source(), progress.apply(step.workload()), archive -> unpackEarly(step, archive));
        return Outcome.done();
    }

    /** The next step is to unpack it, and finds that done, unless the archive is refused. */
    private void unpackEarly(Step.Download step, ArrivingArchive archive) {
        if (signatures.accepts(step.key(), step.source().signature())) {
            unpacker.unpackEarly(step.workload(), archive);
        } else {
            archive.close();
        }
    }

    private Outcome unpack(Step.Unpack step) throws ActuationFailure, InterruptedException {
        signatures.check(step.workload(), step.revision(), step.key(), step.signature());
        unpacker.unpack(step.workload(), step.key(), step.revision(), step.directory(), step.entryPoint());
        return Outcome.done();
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
        if (!step.hasItsParent(store::instances)) {
            // Launched again since it was planned for; it is no failure of this one.
            return new Outcome.Interrupted();
        }
        KindRuntime runtime = runtimes.of(id.kind());
        ImmutableSet<String> known = instances(seen).stream()
                .filter(process -> process.remembered() || !(process.liveness() instanceof Liveness.Ended))
                .map(process -> process.instance().launchId())
                .collect(ImmutableSet.toImmutableSet());
        KindRuntime.Creation creation = runtime.prepare(step, known);
        Instance instance = new Instance(
                UUID.randomUUID().toString(),
                id,
                step.hash(),
                step.declared().revision(),
                step.directory(),
                step.inputs(creation.files()),
                clock.instant(),
                null,
                Phase.INTENDED,
                // What is told to start is given it then.
                KindTraits.of(id.kind()).isStartedExplicitly()
                        ? ""
                        : Traits.of(step.declared()).configHash(),
                // As seen before the launch: what changes from then on is a reason to reload, if need be once too
                // often.
                WatchedFiles.atLaunch(Traits.of(step.declared()), seen.files()));
        // Before anything exists: an instance that nobody remembers could run forever beside its successor.
        store.commit(Change.ofInstance(instance));
        try {
            return Outcome.launched(instance.withIdentity(creation.create(instance)));
        } catch (ActuationFailure e) {
            undo(runtime, instance);
            throw e;
        }
    }

    /** Stops, removes and forgets whatever a failed launch has left. */
    private void undo(KindRuntime runtime, Instance instance) throws InterruptedException {
        try {
            runtime.stop(instance, false, new Lifecycle.Stop(UNDO_TIMEOUT));
            destroy(runtime, instance);
        } catch (ActuationFailure e) {
            LOG.warn(
                    "[{}] what a failed launch left behind is dealt with at the next look: {}",
                    instance.workload(),
                    e.getMessage());
        }
    }

    @Override
    public void clearSight(WorkloadId id) {
        mounts.clear(id);
    }

    @Override
    public void destroyEnded(WorkloadId id) {
        try {
            destroyAllEnded(id);
        } catch (ActuationFailure e) {
            LOG.warn(
                    "[{}] what an ended instance left behind stays until the next look: {}",
                    id.brief(),
                    e.getMessage());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** @throws ActuationFailure the first one, once all have been tried */
    private void destroyAllEnded(WorkloadId id) throws ActuationFailure, InterruptedException {
        ActuationFailure first = null;
        for (Instance instance : store.instances(id)) {
            if (instance.isOver()) {
                try {
                    destroy(runtimes.of(id.kind()), instance);
                } catch (ActuationFailure e) {
                    first = first == null ? e : first;
                }
            }
        }
        if (first != null) {
            throw first;
        }
    }

    /** Forgets an instance last, so that what is left of it is removed again if we die in between. */
    private void destroy(KindRuntime runtime, Instance instance) throws ActuationFailure, InterruptedException {
        try {
            runtime.destroy(instance);
        } catch (RuntimeException e) {
            // A defect of one kind: the workload's other steps must not wait for its repair.
            LOG.error(
                    "[{}] unexpected failure to remove what an instance left behind",
                    instance.workload().brief(),
                    e);
            throw new ActuationFailure(
                    "could not remove what instance " + instance.launchId() + " left: " + e, false, e);
        }
        store.commit(Change.ofEnd(instance));
    }

    private Outcome start(Step.Start step, Instance instance) throws InterruptedException {
        Startable runtime = able(Startable.class, step.workload());
        // Before it is sent: it must not be sent again if we crash before the answer.
        store.commit(Change.ofInstance(instance.withPhase(Phase.START_SENT, "")));
        return runtime.start(step, instance);
    }

    private Outcome stop(Step.Stop step) throws ActuationFailure, InterruptedException {
        KindRuntime runtime = runtimes.of(step.workload().kind());
        Instance instance = step.instance();
        if (runtime.isStoppedOnce()) {
            store.commit(Change.ofInstance(instance.withPhase(Phase.STOPPING, instance.configHash())));
        }
        return Outcome.done(runtime.stop(instance, step.cleanup(), step.how()));
    }

    private Outcome remove(Step.Remove step) throws ActuationFailure, InterruptedException {
        // Both first: what is left of the workload makes the next pass try again.
        destroyAllEnded(step.workload());
        if (runtimes.of(step.workload().kind()) instanceof Limitable limitable) {
            limitable.unlimit(step.workload());
        }
        runtimes.of(step.workload().kind()).remove(step.workload());
        remover.remove(step.workload());
        return Outcome.done();
    }

    private Outcome collect(Step.CollectGarbage step) throws ActuationFailure {
        garbage.collect(step.workload(), step.directories());
        return Outcome.done();
    }

    private <T> T able(Class<T> ability, WorkloadId id) {
        KindRuntime runtime = runtimes.of(id.kind());
        if (!ability.isInstance(runtime)) {
            throw new IllegalStateException(
                    id + " has traits of a kind that is " + ability.getSimpleName() + ", and its runtime is not");
        }
        return ability.cast(runtime);
    }

    private static Instance onlyInstance(ObservedWorkload seen) {
        ImmutableList<ObservedInstance> instances = instances(seen);
        if (instances.size() != 1) {
            throw new IllegalStateException("not exactly one process of " + seen.id() + ": " + instances.size());
        }
        return instances.getFirst().instance();
    }

    private static ImmutableList<ObservedInstance> instances(ObservedWorkload seen) {
        return switch (seen.instances()) {
            case Observation.Seen<ImmutableList<ObservedInstance>>(var instances) -> instances;
            case Observation.Unseen<ImmutableList<ObservedInstance>>(String why) ->
                throw new IllegalStateException("a step although blind: " + why);
        };
    }

    @Override
    public void close() {
        downloader.close();
        unpacker.close();
    }

    /** Bounds of archives, and who may have signed them. */
    public record ArchiveRules(DownloadLimits download, UnpackLimits unpack, SignaturePolicy trust) {
        /** Without configuration. */
        public static final ArchiveRules DEFAULT =
                new ArchiveRules(DownloadLimits.DEFAULT, UnpackLimits.DEFAULT, SignaturePolicy.ANYBODY);

        /**
         * As configured; only the space that has to stay free on the disk is fixed.
         *
         * @throws ActuationFailure when the keys can't be read
         */
        public static ArchiveRules of(AgentConfig config) throws ActuationFailure {
            AgentConfig.Bounds bounds = config.limits();
            return new ArchiveRules(
                    new DownloadLimits(bounds.downloadBytes().bytes(), DownloadLimits.DEFAULT.reserveBytes()),
                    new UnpackLimits(
                            bounds.unpackedBytes().bytes(), bounds.entries(), UnpackLimits.DEFAULT.reserveBytes()),
                    SignaturePolicy.of(config.signatures()));
        }
    }
}
