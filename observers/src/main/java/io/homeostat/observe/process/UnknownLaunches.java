package io.homeostat.observe.process;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.sqlite.MachineState;
import io.homeostat.desired.yaml.IoReason;
import io.homeostat.observe.Observation;
import io.homeostat.observe.process.LaunchDirectory.LaunchMarks;
import io.homeostat.observe.process.ProcFs.Stat;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Finds launches from a state directory that has no notes on them: an older copy was put in its place while they ran, or it was deleted
 * or emptied. What is left are their keepers, each with its launch's directory in its environment. One is believed only
 *
 * <ul>
 *   <li>when all its user ids are those of the directory's owner, or ours where it was deleted and would be made anew by us, and it is in
 *       our pid namespace: so it could end what it leads to anyway;
 *   <li>when it has the mark of that launch, whose id no launch has that there is a note on: all that has the mark of an id is stopped;
 *   <li>when it calls the same directory so: in a container the same path is another one. One that was deleted must be gone for the
 *       process, too, and called by the same names below the same directory.
 * </ul>
 *
 * All processes are looked at once, by the first question: whoever launches holds the lock of the directory and writes notes before.
 */
public final class UnknownLaunches {
    /** How many names a launch's directory has below the state directory. */
    private static final int NAMES = 5;

    private static final Path ROOT = Path.of("/");

    /** As a launch is called that we have made, which is no name of another file. */
    private static final Pattern ID = Pattern.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}");

    private final Layout layout;
    private final ProcFs procFs;

    /** Null until somebody asks. */
    private volatile @Nullable ImmutableList<Found> found;

    /** A launch, by its directory. */
    private record Launch(Kind kind, String workload, String id) {}

    /** A launch with its main process. */
    private record Found(Launch launch, ProcessIdentity main, Instant startedAt) {}

    public UnknownLaunches(Layout layout, ProcFs procFs) {
        this(layout, procFs, null);
    }

    private UnknownLaunches(Layout layout, ProcFs procFs, @Nullable ImmutableList<Found> found) {
        this.layout = layout;
        this.procFs = procFs;
        this.found = found;
    }

    /** For whoever has no need to look for them, because somebody else does. */
    public static UnknownLaunches none(Layout layout, ProcFs procFs) {
        return new UnknownLaunches(layout, procFs, ImmutableList.of());
    }

    /** Those of a workload. */
    ImmutableList<Instance> of(WorkloadId id) throws IOException {
        String name = Layout.directoryName(id);
        return running().stream()
                .filter(one -> one.launch().kind().equals(id.kind())
                        && one.launch().workload().equals(name))
                .map(one -> Instance.unknown(one.launch().id(), id, one.startedAt(), one.main()))
                .collect(ImmutableList.toImmutableList());
    }

    /** The workloads that have any, and others; one whose name can't be told from its directory is found only when it is asked for. */
    public Observation<ImmutableSet<WorkloadId>> beside(Observation<ImmutableSet<WorkloadId>> others) {
        if (!(others instanceof Observation.Seen<ImmutableSet<WorkloadId>>(ImmutableSet<WorkloadId> seen))) {
            return others;
        }
        try {
            return Observation.seen(Stream.concat(
                            seen.stream(),
                            running().stream()
                                    .map(Found::launch)
                                    .flatMap(launch -> Layout.workload(launch.kind(), launch.workload()).stream()))
                    .collect(ImmutableSet.toImmutableSet()));
        } catch (IOException e) {
            return Observation.unseen("can't see what runs: " + IoReason.withFile(e));
        }
    }

    private ImmutableList<Found> running() throws IOException {
        ImmutableList<Found> known = found;
        if (known == null) {
            known = look();
            found = known;
        }
        ImmutableList.Builder<Found> running = ImmutableList.builder();
        for (Found one : known) {
            if (procFs.runs(one.main())) {
                running.add(one);
            }
        }
        return running.build();
    }

    private ImmutableList<Found> look() throws IOException {
        ImmutableSet<Long> keepers =
                procFs.pids().stream().filter(pid -> kept(pid).isPresent()).collect(ImmutableSet.toImmutableSet());
        if (keepers.isEmpty()) {
            return ImmutableList.of();
        }
        String bootId = procFs.bootId();
        Instant boot = procFs.bootTime();
        ImmutableSet<String> noted = noted();
        Map<String, Found> unknown = new LinkedHashMap<>();
        for (Stat stat : procFs.processes()) {
            if (keepers.contains(stat.parent())) {
                // It has no other child than the main process. Asked again, as its number may be another's by now.
                kept(stat.parent())
                        .filter(launch -> !noted.contains(launch.id()))
                        .ifPresent(launch -> unknown.putIfAbsent(
                                launch.id(),
                                new Found(
                                        launch,
                                        new ProcessIdentity(stat.pid(), stat.startTicks(), bootId),
                                        boot.plus(Duration.ofNanos(ProcFs.NANOS_PER_TICK)
                                                .multipliedBy(stat.startTicks())))));
            }
        }
        return ImmutableList.copyOf(unknown.values());
    }

    /** The ids of all launches on which there are notes, of whatever workload. */
    private ImmutableSet<String> noted() throws IOException {
        ImmutableSet.Builder<String> ids = ImmutableSet.builder();
        for (Kind kind : Kind.all()) {
            for (LaunchDirectory launch : LaunchDirectory.all(layout.launches(kind))) {
                if (Files.exists(launch.noteFile())) {
                    ids.add(launch.path().getFileName().toString());
                }
            }
        }
        return ids.build();
    }

    /** The launch whose keeper a process is; empty when it is none of ours, and when there is a note on the launch. */
    private Optional<Launch> kept(long pid) {
        return Optional.of(pid)
                // Cheap questions first: nearly all processes are something else.
                .filter(this::isOfOwner)
                .flatMap(keeper -> procFs.variable(keeper, LaunchMarks.KEEPER_DIRECTORY))
                .filter(directory -> directory.startsWith("/"))
                // It may be called what is no path here.
                .filter(directory -> SystemCharset.problem(directory).isEmpty())
                .flatMap(directory -> launch(pid, Path.of(directory)));
    }

    /** @param directory as the process calls it */
    private Optional<Launch> launch(long pid, Path directory) {
        int below = directory.getNameCount() - NAMES;
        if (below <= 0) {
            return Optional.empty();
        }
        Path kinds = layout.stateDir().resolve(directory.subpath(below, below + NAMES - 2));
        Layout here = layout.of(directory.getName(below).toString());
        return Kind.all().stream()
                .filter(kind -> here.launches(kind).equals(kinds))
                .map(kind -> new Launch(
                        kind,
                        directory.getName(below + NAMES - 2).toString(),
                        directory.getName(below + NAMES - 1).toString()))
                .filter(launch -> ID.matcher(launch.id()).matches())
                .filter(launch ->
                        !isKnown(here, kinds.resolve(launch.workload()).resolve(launch.id())))
                .filter(launch -> procFs.carries(pid, LaunchMarks.KEEPER, launch.id()))
                .filter(launch -> isOurs(pid, directory.subpath(0, below)))
                .findFirst();
    }

    /**
     * Whether there is a note on a launch, or it is left to another machine's state. Where that one is gone, nobody else will know of the
     * launch: it may well be ours, as what this machine is called is noted there alone, and nobody who only looks finds it out.
     */
    private boolean isKnown(Layout launched, Path launch) {
        return launched.equals(layout)
                ? !Files.notExists(new LaunchDirectory(launch).noteFile())
                : new MachineState(layout).isKept(launched.instanceId());
    }

    private boolean isOfOwner(long pid) {
        try {
            return procFs.isOfUser(pid, owner());
        } catch (IOException e) {
            // It has ended.
            return false;
        }
    }

    /** @param stateDir as the process calls it, without the root */
    private boolean isOurs(long pid, Path stateDir) {
        try {
            Path root = procFs.path(Long.toString(pid), "root");
            return shares(pid, "pid")
                    && isSame(root.resolve(stateDir), layout.stateDir())
                    && (sharesMounts(pid, root) || hasNoLinks(root, stateDir));
        } catch (IOException e) {
            // It has ended, or we may not see where it is: then it is not known to be ours.
            return false;
        }
    }

    /** Of the state directory; whoever looks, where there is none: it would be made by them. */
    private int owner() throws IOException {
        try {
            return (int) Files.getAttribute(layout.stateDir(), "unix:uid");
        } catch (NoSuchFileException e) {
            return Account.ourUid();
        }
    }

    /** Whether two paths lead to one file; where neither leads to any, whether both would, if it were made. */
    private static boolean isSame(Path one, Path other) throws IOException {
        Path first = one;
        Path second = other;
        while (isMissing(first) && isMissing(second) && first.getFileName().equals(second.getFileName())) {
            first = first.resolveSibling("");
            second = second.resolveSibling("");
        }
        return Files.isSameFile(first, second);
    }

    /** A link that leads nowhere is there: what it would lead to is not known. */
    private static boolean isMissing(Path file) {
        return Files.notExists(file, LinkOption.NOFOLLOW_LINKS);
    }

    private boolean sharesMounts(long pid, Path root) throws IOException {
        return shares(pid, "mnt") && Files.isSameFile(root, ROOT);
    }

    /** @param namespace as it is called in the directory ns of a process */
    private boolean shares(long pid, String namespace) throws IOException {
        return Files.readSymbolicLink(procFs.path(Long.toString(pid), "ns", namespace))
                .equals(Files.readSymbolicLink(procFs.path("self", "ns", namespace)));
    }

    /** Elsewhere, we would follow a link to another place than it does. */
    private static boolean hasNoLinks(Path root, Path path) {
        for (int names = 1; names <= path.getNameCount(); names++) {
            if (Files.isSymbolicLink(root.resolve(path.subpath(0, names)))) {
                return false;
            }
        }
        return true;
    }
}
