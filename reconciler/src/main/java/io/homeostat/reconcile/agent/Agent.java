package io.homeostat.reconcile.agent;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedSet;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.launch.Keepers;
import io.homeostat.actuate.limits.GracePeriod;
import io.homeostat.desired.fleet.MachineLabels;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.model.DesiredState.Policy;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.platform.MetadataServer;
import io.homeostat.desired.signature.KeyFailure;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.StoreException;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.observe.MachineObserver;
import io.homeostat.observe.host.HostLabels;
import io.homeostat.observe.process.ExitWatcher;
import io.homeostat.observe.process.ProcFs;
import io.homeostat.observe.usage.UsageSampler;
import io.homeostat.reconcile.agent.StateUpdates.Scope;
import io.homeostat.reconcile.agent.fleet.PublishedSources;
import io.homeostat.reconcile.agent.fleet.ReportedWorkloads;
import io.homeostat.reconcile.agent.telemetry.Telemetry;
import io.homeostat.reconcile.command.environment.Version;
import io.homeostat.reconcile.controlplane.ControlPlane;
import io.homeostat.reconcile.controlplane.Modules;
import io.homeostat.reconcile.logs.LogFiles;
import io.homeostat.reconcile.logs.LogTails.MaskedTails;
import io.homeostat.reconcile.loop.MachineSteps;
import io.homeostat.reconcile.loop.MachineSteps.ArchiveRules;
import io.homeostat.reconcile.loop.PassId.Trigger;
import io.homeostat.reconcile.loop.PassListener;
import io.homeostat.reconcile.loop.Reconciler;
import io.homeostat.reconcile.loop.Turns;
import io.homeostat.reconcile.loop.Turns.TurnTaking;
import io.homeostat.reconcile.loop.WorkloadPass;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.runtime.InstanceObservers;
import io.homeostat.reconcile.runtime.Machine;
import io.homeostat.reconcile.runtime.Runtimes;
import io.homeostat.reconcile.secrets.LaunchedValues;
import io.homeostat.reconcile.status.Survey.Finding;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Continuous enforcement of what is declared on one state directory, from {@link #start} until {@link #close}. Workloads outlive it,
 * and it may end at any moment: all it has to know is in the store or on the machine.
 *
 * <p>A workload gets the loop's attention by a hint, when its own cadence says so, or in the resync, which would be enough alone.
 */
public final class Agent implements ControlPlane.Host, AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Agent.class);
    /** How long the boot waits: less than the 90 s after which systemd takes a service for failed. */
    private static final Duration BOOT = Duration.ofMinutes(1);

    /** For steps under way when it is closed: a plugin in the middle of its Start would have to be started anew. */
    private static final Duration GRACE = Duration.ofSeconds(10);

    /** How long what has ended may stay in the table of processes. */
    private static final Duration COLLECTING = Duration.ofSeconds(5);

    /** When the work of a start is over. What ends before that waits no longer than if nobody got ready. */
    private static final Duration PREPARING = Duration.ofSeconds(1);

    private final Clock clock;
    private final InstanceObservers instances;
    private final LaunchedValues launched;
    private final Keepers keepers;
    private final MachineObserver observer;
    private final MachineSteps steps;
    private final Turns turns = new Turns();
    private final WorkloadPass pass;
    private final Reconciler reconciler;
    private final StateUpdates updates;
    private final SourceWatcher sources;
    private final PublishedSources published;
    private final Maintenance maintenance;
    private final Modules modules = new Modules();
    private final PluginSurvey pluginSurvey;
    private final UsageSampler usage;
    private final InstanceFollower follower;
    private final @Nullable ContentWatcher contents;
    private final PeriodicTasks sampling = new PeriodicTasks("sampling");
    private final DeclaredState declared = new DeclaredState();
    private final BootGate boot = new BootGate();
    private final HeapRelease heap = new HeapRelease();

    private volatile AgentConfig config;
    private volatile ArchiveRules archives;

    /**
     * @param defaultFiles where YAML is read from when the configuration doesn't say
     * @param store of that state directory, whose lock the caller holds; used, not closed
     * @param metadata asked when rules want to know something of it; used, not closed
     * @param hinted false: cadence and resync have to be enough, as they are where the machine can't tell what happens
     * @throws ActuationFailure when the configured keys can't be read
     */
    public Agent(
            Layout layout,
            AgentConfig config,
            ImmutableList<Path> defaultFiles,
            StateStore store,
            MetadataServer metadata,
            Clock clock,
            boolean hinted,
            Telemetry telemetry)
            throws ActuationFailure {
        this.config = config;
        this.archives = ArchiveRules.of(config);
        this.clock = clock;
        ProcFs procFs = new ProcFs();
        Machine machine = new Machine(layout, procFs, clock, store::instances).recording(store, declared::declaration);
        this.launched = machine.launched();
        this.keepers = machine.keepers();
        this.instances = new InstanceObservers(machine);
        this.observer = instances.with(metadata);
        MaskedTails logs = new MaskedTails(new LogFiles(layout), declared::declaration, store, machine.launched());
        HostLabels host = new HostLabels();
        Function<AgentConfig, MachineLabels> labels = next -> host.look(next.labels(), layout.instanceId());
        this.sources = new SourceWatcher(defaultFiles, config, store, clock, labels, hinted, this::readSources);
        this.pluginSurvey = new PluginSurvey(declared, store, observer, logs, clock, PluginSurvey.PATIENCE);
        ImmutableList.Builder<PassListener> residents = ImmutableList.builder();
        residents.add(new MovesAhead(new GracePeriod(machine.cgroups())::begin));
        residents.addAll(telemetry.listeners()).add(boot);
        ReportedWorkloads reported = new ReportedWorkloads();
        residents.add(pluginSurvey).add(heap).add(reported);
        this.usage = new UsageSampler(machine.cgroups(), procFs, clock, Ticker.systemTicker(), instances::meter);
        this.follower = new InstanceFollower(
                hinted ? new ExitWatcher(procFs) : null,
                instances,
                usage,
                store,
                declared,
                this::ended,
                this::sampleWhenDue);
        residents.add(follower);
        this.contents = hinted ? new ContentWatcher(observer::files, this::fileChanged) : null;
        if (contents != null) {
            residents.add(contents);
        }
        telemetry.metrics().usage(usage::latest);
        PassBroadcast broadcast = new PassBroadcast(residents.build());
        Runtimes runtimes = new Runtimes(instances);
        this.steps = new MachineSteps(layout, store, runtimes, clock, () -> this.archives, broadcast::download);
        pass = new WorkloadPass(declared, observer, new TurnTaking(steps, turns), store, clock, logs, broadcast);
        this.reconciler = new Reconciler(
                pass,
                id -> true,
                broadcast,
                new RequeuePolicy(declared, store::history, clock, () -> this.config.resync(), Agent::chance),
                telemetry.watch()::beat);
        this.updates =
                new StateUpdates(store, pass, reconciler, declared, broadcast, observer, () -> Policy.of(this.config));
        this.published = new PublishedSources(
                layout,
                metadata,
                store,
                clock,
                updates.declaring(),
                () -> updates.goByWhatIsStored(Trigger.FILES),
                new PublishedSources.Member(
                        layout.instanceId(), Version.current(), () -> labels.apply(this.config), reported));
        this.maintenance = new Maintenance(
                layout,
                store,
                clock,
                updates.declaring(),
                telemetry.watch(),
                modules,
                () -> this.config.limits(),
                machine.logTurns(),
                runtimes::upkeep);
        usePublished(config);
        telemetry.metrics().queueDepth(reconciler::depth);
        for (SourceName source : SourceName.values()) {
            telemetry.metrics().sourceProblems(source.word(), () -> problems(store, source));
        }
        telemetry.metrics().sets(store::publishedSets, clock);
    }

    private void usePublished(AgentConfig next) throws ActuationFailure {
        try {
            published.use(next);
        } catch (KeyFailure e) {
            throw new ActuationFailure(
                    ActuationFailure.causeOf(e.getCause(), FailureCause.Kind.SIGNATURE),
                    String.valueOf(e.getMessage()),
                    true,
                    e);
        }
    }

    private static long problems(StateStore store, SourceName source) {
        return store.problems().stream()
                .filter(problem -> problem.source() == source)
                .count();
    }

    /**
     * Reads the sources, then begins to enforce: nothing is done for what was declared before and no longer is.
     *
     * @param whenUp is called once, when the boot-critical workloads are up or have failed, or a minute is over; at once when there are
     *     none. Must not wait
     * @throws StoreException when it can't be read what is declared; then nothing is enforced
     */
    public void start(Runnable whenUp) {
        Instant began = clock.instant();
        sources.watch(config);
        try {
            readSources();
        } catch (StoreException e) {
            // Where that can't be read either, nothing would count as declared, and all that runs would be removed.
            updates.goByWhatIsStored(Trigger.START);
            LOG.error("{}; what was declared before is enforced", e.getMessage());
        }
        ImmutableSortedSet<WorkloadId> critical = BootGate.critical(declared.now());
        boot.await(critical, whenUp);
        maintenance.in(BOOT, "going on with the boot", boot::open);
        Scope scope = updates.scope();
        maintenance.tidy(scope);
        // In front of the queue before anything is taken from it.
        updates.hint(critical, Trigger.START);
        reconciler.start();
        updates.hint(scope.all(), Trigger.START);
        sources.every(() -> config.resync(), this::resync);
        published.start();
        maintenance.begin();
        sampling.in(PREPARING, "getting ready for launches", keepers::prepare);
        sampling.every(() -> COLLECTING, "collecting keepers that have ended", keepers::collect);
        sampleWhenDue();
        modules.ran(Modules.Part.LOOP, began, clock.instant(), Optional.empty());
    }

    public UsageSampler usage() {
        return usage;
    }

    /** How its parts fare, for whoever may know; others note theirs here, too. */
    public Modules modules() {
        return modules;
    }

    /** Whoever speaks with a plugin takes one of these, as the steps of passes do. */
    public Turns turns() {
        return turns;
    }

    public AgentConfig config() {
        return config;
    }

    /**
     * Applies a new configuration; what needs a restart stays as it is, see {@link SourceWatcher}.
     *
     * @throws ActuationFailure when its keys can't be read; nothing has changed then
     */
    public void reload(AgentConfig next) throws ActuationFailure {
        ArchiveRules rules = ArchiveRules.of(next);
        AgentConfig before = config;
        // What it declares here goes by the labels of the same file.
        config = next;
        try {
            usePublished(next);
        } catch (ActuationFailure e) {
            config = before;
            throw e;
        }
        archives = rules;
        sources.use(next);
    }

    /** For whoever changes what is declared or remembered. */
    StateUpdates updates() {
        return updates;
    }

    @Override
    public void declare(Function<StateStore, ImmutableSet<WorkloadId>> change) {
        updates.declare(change);
    }

    /** Why its fleet hears nothing of this machine; empty when it does, or there is none. */
    String fleetProblem() {
        return published.problem();
    }

    /** What programs were launched with. */
    LaunchedValues launched() {
        return launched;
    }

    Optional<Step> underWay(WorkloadId id) {
        return pluginSurvey.underWay(id);
    }

    @Override
    public ImmutableList<Finding> plugins() throws InterruptedException {
        return pluginSurvey.plugins();
    }

    private void readSources() {
        try {
            sources.read(updates.declaring());
        } finally {
            // Of several sources one may have been stored.
            updates.goByWhatIsStored(Trigger.FILES);
        }
    }

    private void resync() {
        readSources();
        published.refreshWhatMoved();
        Scope scope = updates.scope();
        Duration resync = config.resync();
        for (WorkloadId id : scope.all()) {
            // What is declared comes up by its own cadence, spread over that time, and sooner than this.
            reconciler.hint(id, Trigger.RESYNC, scope.declared().contains(id) ? resync : Duration.ZERO);
        }
    }

    private void sampleWhenDue() {
        sampling.instead(usage::pause, "sampling what workloads use", this::sample);
    }

    private void sample() {
        try {
            usage.sample();
        } finally {
            sampleWhenDue();
        }
    }

    private static double chance() {
        return ThreadLocalRandom.current().nextDouble();
    }

    private void fileChanged(WorkloadId id) {
        reconciler.hint(id, Trigger.FILES);
    }

    private void ended(WorkloadId id) {
        reconciler.hint(id, Trigger.EXIT);
    }

    /** Ends enforcement, within about half a minute; the workloads go on running. */
    @Override
    public void close() {
        published.close();
        sources.close();
        if (contents != null) {
            contents.close();
        }
        maintenance.close();
        heap.close();
        sampling.close();
        reconciler.drain(GRACE);
        pass.close();
        reconciler.close();
        follower.close();
        steps.close();
        instances.close();
    }
}
