package io.homeostat.observe.process;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.desired.yaml.IoReason;
import io.homeostat.observe.Observation;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.observe.ObservedInstance.Liveness;
import io.homeostat.observe.limits.LimitObserver;
import io.homeostat.observe.process.LaunchDirectory.Born;
import io.homeostat.observe.process.LaunchDirectory.Recorded;
import io.homeostat.observe.process.ProcFs.Stat;
import io.homeostat.observe.process.ProcessTree.Extent;
import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * Finds out what has become of the launches of a workload: those that are remembered and those that only the machine knows.
 *
 * <p>A running process costs a few reads of small files; all of /proc is read only when the main process is gone.
 */
public final class ProcessObserver {
    /** A younger launch without any trace may be about to appear. */
    private static final Duration YOUNG = Duration.ofSeconds(2);

    private static final int SIGKILL = 9;

    private final Layout layout;
    private final ProcFs procFs;
    private final InstantSource clock;
    private final LimitObserver limits;
    private final Extent extent;
    private final UnknownLaunches unknown;

    public ProcessObserver(
            Layout layout,
            ProcFs procFs,
            InstantSource clock,
            LimitObserver limits,
            Extent extent,
            UnknownLaunches unknown) {
        this.unknown = unknown;
        this.layout = layout;
        this.procFs = procFs;
        this.clock = clock;
        this.limits = limits;
        this.extent = extent;
    }

    /** Looks at the launches of one workload, oldest first, without asking a running process whether it listens or is healthy. */
    public Observation<ImmutableList<ObservedInstance>> look(WorkloadId id, ImmutableList<Instance> instances) {
        try {
            UserMounts.check(layout, id);
            String bootId = procFs.bootId();
            List<ObservedInstance> seen = new ArrayList<>();
            for (Instance instance : instances) {
                seen.add(remembered(instance, liveness(instance, bootId)));
            }
            for (Instance instance : forgotten(id, instances)) {
                seen.add(new ObservedInstance(instance, false, liveness(instance, bootId)));
            }
            seen.sort(Comparator.comparing(process -> process.instance().launchedAt()));
            return Observation.seen(ImmutableList.copyOf(seen));
        } catch (IOException e) {
            return Observation.unseen("can't see the processes of " + id.brief() + ": " + IoReason.withFile(e));
        }
    }

    /** Keeps the identity of an ended process: it tells a run from a launch that never got a process. */
    private ObservedInstance remembered(Instance instance, Liveness liveness) throws IOException {
        boolean over = liveness instanceof Liveness.Ended || liveness instanceof Liveness.Orphaned;
        if (instance.identity() != null || !over) {
            return new ObservedInstance(instance, true, liveness);
        }
        Optional<Born> born = new LaunchDirectory(layout.launch(instance.workload(), instance.launchId())).born();
        return new ObservedInstance(
                born.map(Born::identity).map(instance::withIdentity).orElse(instance), true, liveness);
    }

    private List<Instance> forgotten(WorkloadId id, ImmutableList<Instance> instances) throws IOException {
        ImmutableSet<String> remembered =
                instances.stream().map(Instance::launchId).collect(ImmutableSet.toImmutableSet());
        List<Instance> found = new ArrayList<>();
        for (Instance instance : unknown.of(id)) {
            if (!remembered.contains(instance.launchId())) {
                found.add(instance);
            }
        }
        try (DirectoryStream<Path> directories = Files.newDirectoryStream(layout.launches(id))) {
            for (Path directory : directories) {
                if (!remembered.contains(directory.getFileName().toString())) {
                    // Without a note there never was a process: the note is complete before anything is started.
                    note(new LaunchDirectory(directory)).ifPresent(note -> found.add(note.instance()));
                }
            }
        } catch (NoSuchFileException e) {
            return found;
        } catch (DirectoryIteratorException e) {
            throw e.getCause();
        }
        return found;
    }

    /** None when a power failure has spoilt it. */
    private Optional<LaunchNote> note(LaunchDirectory directory) throws IOException {
        try {
            return directory.note();
        } catch (IOException e) {
            if (Files.getLastModifiedTime(directory.noteFile()).toInstant().isBefore(procFs.bootTime())) {
                return Optional.empty();
            }
            throw e;
        }
    }

    private Liveness liveness(Instance instance, String bootId) throws IOException {
        LaunchDirectory directory = new LaunchDirectory(layout.launch(instance.workload(), instance.launchId()));
        Optional<Born> born = directory.born();
        ProcessIdentity identity = instance.process();
        if (identity == null) {
            identity = born.map(Born::identity).orElse(null);
        }
        if (identity == null) {
            return unborn(instance, directory, bootId);
        }
        Optional<Stat> stat = identity.bootId().equals(bootId) ? procFs.stat(identity.pid()) : Optional.empty();
        if (stat.isPresent() && stat.get().is(identity) && stat.get().alive()) {
            return new Liveness.Running(identity, procFs.age(identity.startTicks()), true, null);
        }
        if (!identity.bootId().equals(bootId)) {
            return new Liveness.Ended(directory.exit().map(Recorded::exit).orElse(unknown(procFs.bootTime())));
        }
        Optional<Recorded> recorded = directory.awaitExit(procFs, instance.launchId());
        Exit exit = recorded.map(Recorded::exit).orElseGet(() -> unknown(clock.instant()));
        return over(outOfMemory(instance, directory, exit), tree(instance, identity));
    }

    /** No process has identified itself. */
    private Liveness unborn(Instance instance, LaunchDirectory directory, String bootId) throws IOException {
        Optional<Recorded> recorded = directory.exit();
        if (recorded.isPresent()) {
            return new Liveness.Ended(recorded.get().exit());
        }
        Optional<LaunchNote> note = note(directory);
        if (note.isPresent() && !note.get().bootId().equals(bootId)) {
            return new Liveness.Ended(unknown(procFs.bootTime()));
        }
        Instant now = clock.instant();
        boolean young = Duration.between(instance.launchedAt(), now).abs().compareTo(YOUNG) < 0;
        if (young || underWay(instance.launchId())) {
            return new Liveness.Pending();
        }
        return over(unknown(now), tree(instance, null));
    }

    /**
     * Adjusts an exit if the OOM killer killed the process, or a child without which it then failed: it kills with SIGKILL, and counts.
     * What cannot be seen leaves the exit as it is.
     */
    private Exit outOfMemory(Instance instance, LaunchDirectory directory, Exit exit) throws IOException {
        Integer signal = exit.signal();
        Integer code = exit.code();
        boolean failed = signal == null ? code != null && code != 0 : signal == SIGKILL;
        OptionalLong before = directory.oomKillsBefore();
        if (!failed || before.isEmpty()) {
            return exit;
        }
        if (!(limits.oomKills(instance.workload()) instanceof Observation.Seen<Long>(Long now))) {
            return exit;
        }
        // Fewer than before: recreated groups count anew.
        boolean more = now > before.getAsLong() || (now < before.getAsLong() && now > 0);
        return more ? new Exit(code, signal, Exit.Reason.OOM_KILLED, exit.at()) : exit;
    }

    private ProcessTree tree(Instance instance, @Nullable ProcessIdentity main) {
        return new ProcessTree(procFs, layout, instance, main, limits, extent);
    }

    private boolean underWay(String launchId) throws IOException {
        for (Stat stat : procFs.processes()) {
            if (procFs.keeps(stat.pid(), launchId)) {
                return true;
            }
        }
        return false;
    }

    private static Liveness over(Exit exit, ProcessTree tree) throws IOException {
        int survivors = tree.members().size();
        if (survivors == 0) {
            tree.checkKnown();
        }
        return survivors == 0 ? new Liveness.Ended(exit) : new Liveness.Orphaned(exit, survivors);
    }

    private static Exit unknown(Instant at) {
        return new Exit(null, null, Exit.Reason.UNKNOWN, at);
    }
}
