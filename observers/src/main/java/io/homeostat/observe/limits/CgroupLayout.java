package io.homeostat.observe.limits;

import com.google.common.base.Splitter;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.Sets;
import com.google.common.hash.Hashing;
import io.homeostat.desired.platform.Layout;
import io.homeostat.observe.limits.CgroupHierarchy.Version;
import io.homeostat.observe.limits.ObservedLimits.LimitObstacles;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.UserDefinedFileAttributeView;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * Where the control groups of workloads are on this machine, cgroups(7):
 *
 * <ul>
 *   <li>version 1, and machines with both: {@code <controller>/homeostat/<kind>-<name>} in each controller's tree;
 *   <li>version 2, in a subtree that was delegated to us (a systemd unit with {@code Delegate=yes}): beside our own processes, which
 *       are in the group {@value #AGENT}, since a group that passes controllers down may have none;
 *   <li>version 2, not delegated, or a service that systemd before 254 started in the subtree itself: {@code homeostat.slice} at the top.
 * </ul>
 *
 * <p>Looks and changes nothing; whether we may write there is seen when it is tried.
 *
 * @param hierarchies empty when the machine has no control groups for memory and processor time
 */
public record CgroupLayout(ImmutableList<CgroupHierarchy> hierarchies) {
    /** For a machine without control groups, or one where none are to be used. */
    public static final CgroupLayout NONE = new CgroupLayout(ImmutableList.of());

    /** The group of our own processes in a delegated subtree. */
    public static final String AGENT = "agent";

    /** Why a controller that no hierarchy has cannot be used, for people. */
    public static final String NO_CONTROLLER = "this machine has no control groups for it, or none that pass it on";

    private static final String CONTROLLERS = "cgroup.controllers";
    static final String PROCS = "cgroup.procs";

    /** Units that may be assumed to be delegated when the kernel cannot tell: our own. */
    private static final Pattern OUR_UNIT = Pattern.compile("homeostat(@[^/]*)?\\.service");

    private static final Path SERVICE = Path.of("system.slice", "homeostat.service");

    /** Name of the workloads' parent group with the usual state directory. */
    private static final String NAME = "homeostat";

    private static final Path USUAL_STATE = Path.of("/var/lib/homeostat");
    private static final int HASH_DIGITS = 8;

    /**
     * Detects the layout of this machine. With an unusual state directory the groups have another parent, so that two agents may each
     * have a workload of the same name.
     */
    public static CgroupLayout detect(Layout state) {
        return detect(Path.of("/sys/fs/cgroup"), Path.of("/proc"), name(state));
    }

    /** By which groups of one state directory are told from those of another. */
    public static String name(Layout state) {
        Path directory = state.stateDir();
        return directory.equals(USUAL_STATE)
                ? NAME
                : NAME + "-"
                        + Hashing.sha256()
                                .hashString(directory.toString(), StandardCharsets.UTF_8)
                                .toString()
                                .substring(0, HASH_DIGITS);
    }

    /** Detects a layout; a second agent on a machine has another {@code name} than {@code homeostat} for the parent of its groups. */
    public static CgroupLayout detect(Path root, Path proc, String name) {
        if (isUnified(root)) {
            return new CgroupLayout(ImmutableList.of(unified(root, proc, name, EnumSet.noneOf(Controller.class))));
        }
        ImmutableList.Builder<CgroupHierarchy> found = ImmutableList.builder();
        Set<Controller> separate = EnumSet.noneOf(Controller.class);
        for (Controller controller : Controller.values()) {
            Path tree = root.resolve(controller.word());
            if (Files.exists(tree.resolve(PROCS))) {
                separate.add(controller);
                found.add(new CgroupHierarchy(
                        Version.V1,
                        ImmutableSet.of(controller),
                        tree.resolve(name),
                        ImmutableList.of(),
                        ImmutableList.of()));
            }
        }
        Path unified = root.resolve("unified");
        if (separate.size() < Controller.values().length && Files.exists(unified.resolve(CONTROLLERS))) {
            CgroupHierarchy rest = unified(unified, proc, name, separate);
            if (!rest.controllers().isEmpty()) {
                found.add(rest);
            }
        }
        return new CgroupLayout(found.build());
    }

    /** Whether the machine has version 2 alone: those with both have something else there. */
    static boolean isUnified(Path root) {
        return Files.exists(root.resolve(CONTROLLERS));
    }

    private static CgroupHierarchy unified(Path root, Path proc, String name, Set<Controller> separate) {
        Path slice = root.resolve(name + ".slice");
        // The service belongs to the usual state directory; for any other agent its groups are foreign.
        ImmutableList<Path> known =
                name.equals(NAME) ? ImmutableList.of(slice, root.resolve(SERVICE)) : ImmutableList.of(slice);
        Optional<Path> delegated = own(root, proc.resolve("self"))
                .filter(own -> !couldNotBeStartedAgain(own, root))
                .flatMap(CgroupLayout::delegated);
        Path home = delegated.orElse(slice);
        return new CgroupHierarchy(
                Version.V2,
                ImmutableSet.copyOf(Sets.difference(controllers(delegated.orElse(root)), separate)),
                home,
                known.stream().filter(place -> !place.equals(home)).collect(ImmutableList.toImmutableList()),
                delegated.isPresent() ? ImmutableList.of(home) : ImmutableList.of(root, home));
    }

    /**
     * A service that systemd starts in the subtree itself, as it does before version 254, which knows no DelegateSubgroup: with groups of
     * workloads in it, the subtree may have no process, and systemd could not start the service again beside them. Who may not write
     * elsewhere has no choice.
     */
    static boolean couldNotBeStartedAgain(Path own, Path root) {
        Path moved = own.endsWith(AgentGroup.SUPERVISOR) ? own.getParent() : null;
        return last(moved == null ? own : moved).endsWith(".service") && Files.isWritable(root);
    }

    /** The delegated subtree that our own process is in, at its top or in the group for our processes. */
    private static Optional<Path> delegated(Path own) {
        Path parent = own.getParent();
        if (parent != null && own.endsWith(AGENT) && isDelegated(parent)) {
            return Optional.of(parent);
        }
        return isDelegated(own) ? Optional.of(own) : Optional.empty();
    }

    /** Being writable is not enough: root may write everywhere, and a terminal's group is its user's but not ours. */
    static boolean isDelegated(Path group) {
        return Files.isWritable(group) && (OUR_UNIT.matcher(last(group)).matches() || isMarked(group));
    }

    /** Whether systemd has delegated the group. */
    private static boolean isMarked(Path group) {
        try {
            UserDefinedFileAttributeView attributes =
                    Files.getFileAttributeView(group, UserDefinedFileAttributeView.class);
            if (attributes == null || !attributes.list().contains("delegate")) {
                return false;
            }
            ByteBuffer value = ByteBuffer.allocate(attributes.size("delegate"));
            int length = attributes.read("delegate", value);
            return length == 1 && value.get(0) == '1';
        } catch (IOException e) {
            // Without support for such attributes, the name has to tell.
            return false;
        }
    }

    /** The group of a process in the unified hierarchy; {@code process} is its directory in /proc. */
    static Optional<Path> own(Path root, Path process) {
        try {
            return Files.readAllLines(process.resolve("cgroup"), StandardCharsets.UTF_8).stream()
                    .filter(line -> line.startsWith("0::/"))
                    .map(line -> root.resolve(line.substring("0::/".length())))
                    .findFirst();
        } catch (IOException e) {
            // A process outside any group has nothing delegated.
            return Optional.empty();
        }
    }

    /**
     * The {@code cgroup.procs} of the groups that a process is in, one in each hierarchy of ours. None that does not list it, as when this is
     * a namespace and the files are those of the host.
     *
     * @param membership what /proc/PID/cgroup says, cgroups(7)
     */
    public ImmutableList<Path> procs(String membership, long pid) throws IOException {
        ImmutableList.Builder<Path> found = ImmutableList.builder();
        for (CgroupHierarchy hierarchy : hierarchies) {
            for (String line : Splitter.on('\n').split(membership)) {
                Optional<Path> procs = hierarchy.group(line).map(group -> group.resolve(PROCS));
                if (procs.isPresent() && lists(procs.get(), pid)) {
                    found.add(procs.get());
                }
            }
        }
        return found.build();
    }

    private static boolean lists(Path procs, long pid) throws IOException {
        try {
            return Files.readAllLines(procs).contains(Long.toString(pid));
        } catch (NoSuchFileException e) {
            return false;
        }
    }

    /** What cannot be limited here, and why; what the kernel refuses although it looks possible shows only on trying. */
    public LimitObstacles obstacles() {
        Map<Controller, String> reasons = new EnumMap<>(Controller.class);
        for (Controller controller : Controller.values()) {
            Optional<CgroupHierarchy> hierarchy = hierarchies.stream()
                    .filter(each -> each.controllers().contains(controller))
                    .findFirst();
            if (hierarchy.isEmpty()) {
                reasons.put(controller, NO_CONTROLLER);
            } else {
                hierarchy.get().obstacle().ifPresent(why -> reasons.put(controller, why));
            }
        }
        return new LimitObstacles(ImmutableMap.copyOf(reasons), obstacleToOomGroup(reasons));
    }

    private String obstacleToOomGroup(Map<Controller, String> reasons) {
        String memory = reasons.get(Controller.MEMORY);
        if (memory != null) {
            return memory;
        }
        boolean second = hierarchies.stream()
                .anyMatch(hierarchy -> hierarchy.controllers().contains(Controller.MEMORY)
                        && hierarchy.version() == CgroupHierarchy.Version.V2);
        return second
                ? ""
                : "the memory controller is in control groups of version 1 here, which know no memory.oom.group";
    }

    static Set<Controller> controllers(Path group) {
        Set<Controller> found = EnumSet.noneOf(Controller.class);
        try {
            ImmutableSet<String> words = ImmutableSet.copyOf(Splitter.on(' ')
                    .split(Files.readString(group.resolve(CONTROLLERS)).strip()));
            for (Controller controller : Controller.values()) {
                if (words.contains(controller.word())) {
                    found.add(controller);
                }
            }
        } catch (IOException e) {
            return found;
        }
        return found;
    }

    static String last(Path path) {
        Path name = path.getFileName();
        return name == null ? "" : name.toString();
    }
}
