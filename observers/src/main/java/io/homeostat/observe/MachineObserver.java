package io.homeostat.observe;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.Probe;
import io.homeostat.desired.model.ProcessSpec;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.model.WorkloadSpec;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.platform.MetadataServer;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Phase;
import io.homeostat.desired.state.ProcessIdentity;
import io.homeostat.observe.ObservedInstance.Liveness;
import io.homeostat.observe.ObservedInstance.Liveness.Running;
import io.homeostat.observe.health.Health;
import io.homeostat.observe.health.Health.Verdict;
import io.homeostat.observe.health.PluginChannel;
import io.homeostat.observe.health.Probes;
import io.homeostat.observe.host.HostFact;
import io.homeostat.observe.host.HostFacts;
import io.homeostat.observe.host.HostObserver;
import io.homeostat.observe.host.MetadataFacts;
import io.homeostat.observe.host.OsRelease;
import io.homeostat.observe.install.InstallationObserver;
import io.homeostat.observe.limits.CgroupLayout;
import io.homeostat.observe.limits.LimitObserver;
import io.homeostat.observe.process.LostFiles;
import io.homeostat.observe.process.ProcFs;
import io.homeostat.observe.process.ProcessObserver;
import java.nio.file.Path;
import java.time.InstantSource;
import org.jspecify.annotations.Nullable;

/** Looks at the real machine: its disk, its processes, and the answers of their health checks. */
public final class MachineObserver implements Observer, AutoCloseable {
    private final Layout layout;
    private final InstallationObserver installations;
    private final ProcessObserver processes;
    private final PluginChannel plugins;
    private final Probes probes;
    private final LostFiles lostFiles;
    private final LimitObserver limits;
    private final HostObserver host;
    private final InstantSource clock;

    /**
     * @param plugins used, not closed
     * @param metadata asked only for facts that rules mention; used, not closed
     */
    public MachineObserver(
            Layout layout, ProcFs procFs, PluginChannel plugins, MetadataServer metadata, InstantSource clock) {
        this(layout, procFs, plugins, metadata, clock, new LimitObserver(CgroupLayout.detect(layout)));
    }

    MachineObserver(
            Layout layout,
            ProcFs procFs,
            PluginChannel plugins,
            MetadataServer metadata,
            InstantSource clock,
            LimitObserver limits) {
        this.layout = layout;
        this.limits = limits;
        this.installations = new InstallationObserver(layout);
        this.processes = new ProcessObserver(layout, procFs, clock, limits);
        this.plugins = plugins;
        this.probes = new Probes(clock);
        this.lostFiles = new LostFiles(layout, procFs);
        this.host = new HostObserver(
                procFs, new OsRelease(), layout.instanceId(), new MetadataFacts(metadata, Ticker.systemTicker())::get);
        this.clock = clock;
    }

    @Override
    public ObservedWorkload look(WorkloadId id, ImmutableList<Instance> instances, Checks checks) {
        Observation<ImmutableList<ObservedInstance>> launches = asked(processes.look(id, instances), checks);
        return new ObservedWorkload(
                id,
                installations.examined(id),
                installations.active(id),
                launches,
                limits.look(id, running(launches)),
                installations.residue(id));
    }

    @Override
    public HostFacts host(ImmutableSet<HostFact> asked) {
        return host.look(asked);
    }

    private static ImmutableSet<Long> running(Observation<ImmutableList<ObservedInstance>> launches) {
        ImmutableSet.Builder<Long> pids = ImmutableSet.builder();
        if (launches instanceof Observation.Seen<ImmutableList<ObservedInstance>>(var found)) {
            for (ObservedInstance process : found) {
                if (process.liveness() instanceof Running running
                        && running.identity() instanceof ProcessIdentity main) {
                    pids.add(main.pid());
                }
            }
        }
        return pids.build();
    }

    @Override
    public Observation<ImmutableSet<String>> archives() {
        return installations.archives();
    }

    @Override
    public Observation<ImmutableSet<WorkloadId>> traces() {
        return installations.traces();
    }

    @Override
    public void close() {
        probes.close();
    }

    private Observation<ImmutableList<ObservedInstance>> asked(
            Observation<ImmutableList<ObservedInstance>> seen, Checks checks) {
        if (!(seen
                instanceof Observation.Seen<ImmutableList<ObservedInstance>>(ImmutableList<ObservedInstance> found))) {
            return seen;
        }
        ImmutableList.Builder<ObservedInstance> asked = ImmutableList.builder();
        for (ObservedInstance process : found) {
            if (!(process.liveness() instanceof Running running)) {
                asked.add(process);
                continue;
            }
            WorkloadSpec spec = checks.of(process.instance());
            Observation<Running> answer = process.instance().workload().kind().equals(Kind.PLUGIN)
                    ? plugin(process.instance(), running, spec)
                    : Observation.seen(process(running, spec));
            switch (answer.map(known -> lostFiles.of(process.instance(), known))) {
                case Observation.Seen<Running>(Running known) ->
                    asked.add(new ObservedInstance(process.instance(), process.remembered(), (Liveness) known));
                case Observation.Unseen<Running>(String why) -> {
                    return Observation.unseen(why);
                }
            }
        }
        return Observation.seen(asked.build());
    }

    private Observation<Running> plugin(Instance instance, Running running, @Nullable WorkloadSpec spec) {
        Path socket;
        try {
            socket = layout.socket(instance.workload(), instance.revision());
        } catch (IllegalStateException e) {
            return Observation.unseen(String.valueOf(e.getMessage()));
        }
        if (instance.phase() == Phase.STARTED && !LostFiles.isSocket(socket)) {
            Health unknown = Health.failed(Verdict.UNKNOWN, "its socket is gone, nobody can ask it", clock.instant());
            return Observation.seen(new Running(
                    running.identity(),
                    running.age(),
                    false,
                    spec == null ? null : unknown,
                    ImmutableSet.of(ObservedInstance.Loss.SOCKET)));
        }
        if (spec != null && instance.phase() == Phase.STARTED) {
            Health health = plugins.status(socket, spec.lifecycle().health().timeout());
            if (health.verdict() == Verdict.HEALTHY) {
                return Observation.seen(new Running(running.identity(), running.age(), true, health));
            }
            return plugins.listening(socket)
                    .map(listening -> new Running(running.identity(), running.age(), listening, health));
        }
        return plugins.listening(socket)
                .map(listening -> new Running(running.identity(), running.age(), listening, null));
    }

    private Running process(Running running, @Nullable WorkloadSpec spec) {
        if (!(spec instanceof ProcessSpec declared)) {
            return running;
        }
        Probe probe = declared.probe();
        Health health = probe == null
                ? Health.healthy(clock.instant())
                : probes.ask(probe, declared.lifecycle().health().timeout());
        return new Running(running.identity(), running.age(), true, health);
    }
}
