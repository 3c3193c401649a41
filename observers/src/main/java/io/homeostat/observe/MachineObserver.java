package io.homeostat.observe;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.ProgramUser;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.platform.MetadataServer;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.desired.state.Instance;
import io.homeostat.observe.Observer.Checks;
import io.homeostat.observe.files.FileContent;
import io.homeostat.observe.files.FileContents;
import io.homeostat.observe.host.HostFacts;
import io.homeostat.observe.host.HostFacts.HostFact;
import io.homeostat.observe.host.HostObserver;
import io.homeostat.observe.host.MetadataFacts;
import io.homeostat.observe.host.OsRelease;
import io.homeostat.observe.install.InstallationObserver;
import io.homeostat.observe.process.ProcFs;
import io.homeostat.observe.process.UnknownLaunches;
import java.io.IOException;
import java.time.InstantSource;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Looks at the real machine: its disk, its instances with their limits, and what is known of the host. */
public final class MachineObserver implements Observer {
    private static final Logger LOG = LoggerFactory.getLogger(MachineObserver.class);

    private final ProcFs procFs;
    private final UnknownLaunches unknown;
    private final InstallationObserver installations;
    private final Function<Kind, ? extends InstanceObserver> instances;
    private final HostObserver host;
    private final FileContents files;

    /**
     * @param instances who looks at those of a kind; used, not closed
     * @param metadata asked only for what rules want to know; used, not closed
     */
    public MachineObserver(
            Layout layout,
            ProcFs procFs,
            UnknownLaunches unknown,
            Function<Kind, ? extends InstanceObserver> instances,
            MetadataServer metadata,
            InstantSource clock) {
        this.procFs = procFs;
        this.unknown = unknown;
        this.files = new FileContents(clock);
        this.installations = new InstallationObserver(layout);
        this.instances = instances;
        this.host = new HostObserver(
                procFs, new OsRelease(), layout.instanceId(), new MetadataFacts(metadata, Ticker.systemTicker())::get);
    }

    @Override
    public ObservedWorkload look(WorkloadId id, ImmutableList<Instance> remembered, Checks checks) {
        InstanceObserver observer = instances.apply(id.kind());
        Observation<ImmutableList<ObservedInstance>> found = whole(id, () -> observer.look(id, remembered, checks));
        return new ObservedWorkload(
                id,
                installations.examined(id),
                installations.active(id),
                found,
                whole(
                        id,
                        () -> observer.limits(
                                id,
                                found instanceof Observation.Seen<ImmutableList<ObservedInstance>>(var seen)
                                        ? seen
                                        : ImmutableList.of())),
                installations.residue(id));
    }

    /** Whatever plugins, drivers and guests answer, and however we fail on it, is a matter of their workload: others are looked at. */
    private static <T> Observation<T> whole(WorkloadId id, Supplier<Observation<T>> look) {
        try {
            return look.get();
        } catch (RuntimeException | StackOverflowError e) {
            LOG.debug("[{}] the look broke off here", id.brief(), e);
            return Observation.unseen(Defect.words(e));
        }
    }

    @Override
    public boolean isGone(Instance instance) {
        ProcessIdentity process = instance.process();
        if (process == null) {
            WorkloadId id = instance.workload();
            return whole(id, () -> Observation.seen(instances.apply(id.kind()).isGone(instance)))
                    .orElse(false);
        }
        try {
            // No look at its launch, which its own pass may be removing.
            return !procFs.runs(process);
        } catch (IOException e) {
            // Not known; its own pass says why.
            return false;
        }
    }

    @Override
    public String refusal(Workload declared) {
        return instances.apply(declared.id().kind()).refusal(declared);
    }

    @Override
    public HostFacts host(ImmutableSet<HostFact> asked) {
        return host.look(asked);
    }

    @Override
    public ImmutableMap<String, FileContent> files(@Nullable ProgramUser user, ImmutableSet<String> paths) {
        return files.look(user, paths);
    }

    @Override
    public Observation<ImmutableSet<String>> archives() {
        return installations.archives();
    }

    @Override
    public Observation<ImmutableSet<WorkloadId>> traces() {
        return unknown.beside(installations.traces());
    }
}
