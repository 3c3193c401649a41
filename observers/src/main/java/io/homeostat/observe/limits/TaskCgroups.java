package io.homeostat.observe.limits;

import com.google.common.base.Splitter;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedSet;
import io.homeostat.desired.yaml.IoReason;
import io.homeostat.observe.Observation;
import io.homeostat.observe.limits.CgroupHierarchy.Version;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The control groups in which drivers of Nomad expect a task to be, and what is in them. Where they are is not for us to choose:
 *
 * <ul>
 *   <li>version 1, and machines with both: {@code {freezer,cpu,memory}/nomad/<allocation>.<task>}, and {@code cpuset/nomad/share} for all
 *       tasks but those with processors of their own, which are in {@code cpuset/nomad/reserve/<allocation>.<task>}. The group of the
 *       freezer says which processes belong to the task; without that controller all the others together do;
 *   <li>version 2: {@code nomad.slice/share/<allocation>.<task>.scope}, or the same in {@code nomad.slice/reserve}.
 * </ul>
 *
 * <p>Looks and changes nothing.
 */
public final class TaskCgroups {
    /** The controllers of version 1 that have a group for each task; the freezer decides who belongs to it. */
    public static final ImmutableList<String> PER_TASK = ImmutableList.of("freezer", "cpu", "memory");

    private static final String CPUSET = "cpuset";
    private static final String SHARE = "share";
    private static final String RESERVE = "reserve";
    private static final String PROCS = "cgroup.procs";
    private static final String EVENTS = "cgroup.events";

    private final Path root;

    /** What was seen of it: hierarchies are mounted at boot, and stay. */
    private final Set<String> mounted = ConcurrentHashMap.newKeySet();

    private volatile @Nullable Version version;

    /** Those of this machine. */
    public TaskCgroups() {
        this(Path.of("/sys/fs/cgroup"));
    }

    public TaskCgroups(Path root) {
        this.root = root;
    }

    /** Where the control groups of the machine are. */
    public Path root() {
        return root;
    }

    /** Which version a driver takes this machine for; empty when it has none. */
    public Optional<Version> version() {
        Version known = version;
        if (known == null) {
            known = CgroupLayout.isUnified(root)
                    ? Version.V2
                    : PER_TASK.stream().anyMatch(this::isMounted) ? Version.V1 : null;
            version = known;
        }
        return Optional.ofNullable(known);
    }

    /** Whether a controller of version 1 has a hierarchy here. */
    public boolean isMounted(String controller) {
        return mounted.contains(controller)
                || (Files.exists(root.resolve(controller).resolve(PROCS)) && mounted.add(controller));
    }

    /** The parents in version 2 of the groups of tasks that share processors, or that have some reserved, from the top. */
    public ImmutableList<Path> slices(boolean reserved) {
        Path slice = root.resolve("nomad.slice");
        return ImmutableList.of(slice, slice.resolve(reserved ? RESERVE : SHARE));
    }

    /** The groups of a controller of version 1 for all tasks of the machine, from the top. */
    public ImmutableList<Path> shared(String controller) {
        Path nomad = root.resolve(controller).resolve("nomad");
        return controller.equals(CPUSET) ? ImmutableList.of(nomad, nomad.resolve(SHARE)) : ImmutableList.of(nomad);
    }

    /**
     * Where the processors of tasks are divided.
     *
     * @param whole the group with all of them
     * @param share of the tasks that have none for themselves
     * @param reserve with a group for each task that has
     */
    public record Partition(Path whole, Path share, Path reserve) {
        private Partition(Path whole) {
            this(whole, whole.resolve(SHARE), whole.resolve(RESERVE));
        }
    }

    /** Empty when nobody divides processors on this machine. */
    public Optional<Partition> partition() {
        return version().flatMap(version -> switch (version) {
            case V1 ->
                isMounted(CPUSET) ? Optional.of(new Partition(shared(CPUSET).getFirst())) : Optional.empty();
            case V2 -> Optional.of(new Partition(slices(false).getFirst()));
        });
    }

    /** The group of a task that has processors for itself, whether it exists or not; empty when this machine can't have one. */
    public Optional<Path> reserved(TaskGroupName name) {
        return partition()
                .map(partition -> partition.reserve().resolve(version == Version.V2 ? name.scope() : name.text()));
    }

    /** The processors that a task has for itself, such as "2-3,7"; empty when it has none. */
    public Optional<String> processors(TaskGroupName name) throws IOException {
        Optional<Path> own = reserved(name).filter(Files::isDirectory);
        return own.isEmpty()
                ? Optional.empty()
                : Optional.of(Files.readString(own.get().resolve("cpuset.cpus")).strip());
    }

    /**
     * The groups that decide who belongs to a task, as far as this machine can have them, whether they exist or not; the one that is to be
     * believed first.
     */
    public ImmutableList<Path> groups(TaskGroupName name) {
        return version()
                .map(version -> switch (version) {
                    case V1 ->
                        PER_TASK.stream()
                                .filter(this::isMounted)
                                .map(controller -> shared(controller).getLast().resolve(name.text()))
                                .collect(ImmutableList.toImmutableList());
                    case V2 ->
                        ImmutableList.of(
                                slices(false).getLast().resolve(name.scope()),
                                slices(true).getLast().resolve(name.scope()));
                })
                .orElse(ImmutableList.of());
    }

    /** What a driver is told in LinuxResources.cpuset_cgroup; empty when this machine has no such group. */
    public Optional<Path> cpuset(TaskGroupName name) {
        Optional<Path> own = reserved(name).filter(Files::isDirectory);
        return own.isPresent()
                ? own
                : partition()
                        .map(partition ->
                                version == Version.V2 ? partition.share().resolve(name.scope()) : partition.share());
    }

    /**
     * What is known of a task's groups.
     *
     * @param exists whether there is any of them
     * @param populated whether a process is in them or below; a zombie is in none
     * @param pids of these processes; may be empty although there are some, if the task made groups whose processes can't be listed
     */
    public record Occupancy(boolean exists, boolean populated, ImmutableSortedSet<Long> pids) {
        public static final Occupancy NONE = new Occupancy(false, false, ImmutableSortedSet.of());
    }

    /** Whether a task has groups, and who is in them. On a machine without control groups it has none. */
    public Observation<Occupancy> look(TaskGroupName name) {
        try {
            return Observation.seen(seen(name));
        } catch (IOException e) {
            return unseen(name, "processes", e);
        }
    }

    private Occupancy seen(TaskGroupName name) throws IOException {
        ImmutableList<Path> existing = deciding(groups(name));
        if (existing.isEmpty()) {
            return Occupancy.NONE;
        }
        boolean populated = false;
        ImmutableSortedSet.Builder<Long> pids = ImmutableSortedSet.naturalOrder();
        for (Path group : existing) {
            Optional<Boolean> told = populated(group);
            ImmutableSortedSet<Long> members =
                    told.isPresent() && !told.get() ? ImmutableSortedSet.of() : CgroupHierarchy.members(group);
            pids.addAll(members);
            populated |= told.orElse(!members.isEmpty());
        }
        return new Occupancy(true, populated, pids.build());
    }

    /** The freezer's, if it has one: of the others a driver's own process may be in one or two for a moment longer. Else all there are. */
    private ImmutableList<Path> deciding(ImmutableList<Path> groups) {
        if (isMounted(PER_TASK.getFirst()) && Files.isDirectory(groups.getFirst())) {
            return ImmutableList.of(groups.getFirst());
        }
        return groups.stream().filter(Files::isDirectory).collect(ImmutableList.toImmutableList());
    }

    /** What version 2 says of a group and all below it; empty in version 1. */
    private Optional<Boolean> populated(Path group) throws IOException {
        Path file = group.resolve(EVENTS);
        if (version == Version.V1 || Files.notExists(file)) {
            return Optional.empty();
        }
        try {
            return Splitter.on('\n')
                    .splitToStream(new String(KernelFile.bytes(file), StandardCharsets.US_ASCII))
                    .filter(line -> line.startsWith("populated "))
                    .map(line -> line.strip().endsWith("1"))
                    .findFirst();
        } catch (IOException e) {
            // Removed between open and read: ENODEV, for which Java has no type.
            if (Files.notExists(group)) {
                return Optional.of(false);
            }
            throw e;
        }
    }

    /** How many processes of a task the OOM killer has killed since its groups were made; 0 when it has none. */
    public Observation<Long> oomKills(TaskGroupName name) {
        Optional<Version> version = version();
        if (version.isEmpty() || (version.get() == Version.V1 && !isMounted("memory"))) {
            return Observation.unseen("nobody counts the out-of-memory kills of " + name.text() + ": " + root
                    + " has no memory controller; mount it, or boot with it");
        }
        Path group = version.get() == Version.V1
                ? shared("memory").getLast().resolve(name.text())
                : groups(name).stream()
                        .filter(Files::isDirectory)
                        .findFirst()
                        .orElseGet(() -> groups(name).getFirst());
        try {
            return Observation.seen(Files.isDirectory(group) ? LimitFiles.oomKills(version.get(), group) : 0L);
        } catch (IOException e) {
            if (Files.notExists(group)) {
                return Observation.seen(0L);
            }
            return unseen(name, "out-of-memory kills", e);
        }
    }

    private static <T> Observation<T> unseen(TaskGroupName name, String what, IOException e) {
        return Observation.unseen(
                "can't see the " + what + " of the task " + name.text() + ": " + IoReason.withFile(e));
    }
}
