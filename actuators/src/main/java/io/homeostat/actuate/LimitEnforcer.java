package io.homeostat.actuate;

import com.google.common.base.Joiner;
import com.google.common.base.Splitter;
import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.Limits;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.observe.CgroupHierarchy;
import io.homeostat.observe.CgroupLayout;
import io.homeostat.observe.Controller;
import io.homeostat.observe.LimitFiles;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;

/**
 * Limits workloads by control groups. A limit that can't be enforced is an answer and no failure: whether the workload may run
 * without it is the declaration's decision.
 *
 * <p>Every workload has its groups, limited or not, so that a limit that is declared later holds for all of its processes.
 */
public final class LimitEnforcer {
    /** Processes that are forked while their parents are moved are moved in the next round. */
    private static final int MOVING_ROUNDS = 10;

    private final CgroupLayout layout;
    private final ControlFiles files;

    public LimitEnforcer(CgroupLayout layout) {
        this(layout, ControlFiles.ofTheKernel());
    }

    LimitEnforcer(CgroupLayout layout, ControlFiles files) {
        this.layout = layout;
        this.files = files;
    }

    /** Makes the groups of a workload and sets their limits, before its process is launched. */
    public CgroupPlan prepare(WorkloadId id, Limits limits) {
        Lacking lacking = new Lacking(limits);
        ImmutableList.Builder<Path> procs = ImmutableList.builder();
        for (CgroupHierarchy hierarchy : layout.hierarchies()) {
            Path group = hierarchy.group(id);
            try {
                makeHome(hierarchy, lacking);
                files.makeGroup(group);
            } catch (IOException e) {
                hierarchy.controllers().forEach(controller -> lacking.add(controller, refused(e)));
                continue;
            }
            setLimits(hierarchy, group, limits, lacking);
            procs.add(group.resolve("cgroup.procs"));
        }
        return new CgroupPlan(procs.build(), lacking.result());
    }

    /** Sets the limits of groups that are there, for the processes in them and at once. */
    public Enforcement apply(WorkloadId id, Limits limits) {
        Lacking lacking = new Lacking(limits);
        for (CgroupHierarchy hierarchy : layout.hierarchies()) {
            ImmutableList<Path> groups = hierarchy.existing(id);
            if (groups.isEmpty()) {
                String why =
                        "the process was launched without a control group; the limit holds when it is launched again";
                hierarchy.controllers().forEach(controller -> lacking.add(controller, why));
            }
            groups.forEach(group -> setLimits(hierarchy, group, limits, lacking));
        }
        return lacking.result();
    }

    /**
     * Removes the groups of a workload that has no process any more; nothing there is fine.
     *
     * @throws ActuationFailure when there still are processes
     */
    public void remove(WorkloadId id) throws ActuationFailure {
        for (CgroupHierarchy hierarchy : layout.hierarchies()) {
            for (Path group : hierarchy.existing(id)) {
                try {
                    removeTree(group);
                } catch (IOException e) {
                    throw new ActuationFailure(
                            "could not remove the control group " + group + " of " + id + occupants(group) + ": "
                                    + Disk.reason(e),
                            false,
                            e);
                }
            }
        }
    }

    private void makeHome(CgroupHierarchy hierarchy, Lacking lacking) throws IOException {
        files.makeGroup(hierarchy.home());
        if (hierarchy.version() == CgroupHierarchy.Version.V1) {
            return;
        }
        for (Path above : hierarchy.enabling()) {
            ImmutableList<Controller> missing = hierarchy.controllers().stream()
                    .filter(controller -> !passesDown(above, controller))
                    .collect(ImmutableList.toImmutableList());
            if (!missing.isEmpty() && above.equals(hierarchy.home())) {
                makeRoom(above);
            }
            for (Controller controller : missing) {
                try {
                    // One by one: a controller that can't be had keeps no other from being.
                    files.write(above.resolve("cgroup.subtree_control"), "+" + controller.word());
                } catch (IOException e) {
                    lacking.add(controller, refused(e));
                }
            }
        }
    }

    private static boolean passesDown(Path group, Controller controller) {
        try {
            String enabled =
                    Files.readString(group.resolve("cgroup.subtree_control")).strip();
            return Splitter.on(' ').splitToList(enabled).contains(controller.word());
        } catch (IOException e) {
            // Then enabling it says what is wrong.
            return false;
        }
    }

    /** Moves our own processes down a level: a group that passes controllers down may have none itself. */
    private void makeRoom(Path home) throws IOException {
        for (int round = 0; round < MOVING_ROUNDS; round++) {
            ImmutableList<Long> inside = CgroupHierarchy.processes(home);
            if (inside.isEmpty()) {
                return;
            }
            Path agent = home.resolve(CgroupLayout.AGENT);
            files.makeGroup(agent);
            for (long pid : inside) {
                try {
                    files.write(agent.resolve("cgroup.procs"), Long.toString(pid));
                } catch (IOException e) {
                    if (CgroupHierarchy.processes(home).contains(pid)) {
                        throw e;
                    }
                }
            }
        }
    }

    private void setLimits(CgroupHierarchy hierarchy, Path group, Limits limits, Lacking lacking) {
        for (Controller controller : hierarchy.controllers()) {
            try {
                for (Map.Entry<String, String> each : LimitFiles.contents(hierarchy.version(), controller, limits)
                        .entrySet()) {
                    files.write(group.resolve(each.getKey()), each.getValue());
                }
            } catch (IOException e) {
                lacking.add(controller, refused(e));
            }
        }
    }

    private void removeTree(Path group) throws IOException {
        List<Path> groups;
        try (Stream<Path> all = Files.walk(group)) {
            groups = all.filter(Files::isDirectory)
                    .sorted(Comparator.reverseOrder())
                    .toList();
        } catch (NoSuchFileException e) {
            return;
        } catch (UncheckedIOException e) {
            throw e.getCause();
        }
        for (Path each : groups) {
            files.removeGroup(each);
        }
    }

    private static String occupants(Path group) {
        try {
            ImmutableList<Long> pids = CgroupHierarchy.processes(group);
            return pids.isEmpty()
                    ? ""
                    : ", in which are the processes " + Joiner.on(", ").join(pids);
        } catch (IOException e) {
            return "";
        }
    }

    private static String refused(IOException e) {
        return Disk.reason(e);
    }

    /** Which of the declared limits do not hold, and why: the first reason is the one that counts. */
    private final class Lacking {
        private final Set<Controller> declared = EnumSet.noneOf(Controller.class);
        private final Map<Controller, String> reasons = new EnumMap<>(Controller.class);

        Lacking(Limits limits) {
            if (limits.memory() != null) {
                declared.add(Controller.MEMORY);
            }
            if (limits.cpu() != null) {
                declared.add(Controller.CPU);
            }
            for (Controller controller : declared) {
                if (layout.hierarchies().stream()
                        .noneMatch(hierarchy -> hierarchy.controllers().contains(controller))) {
                    add(controller, "this machine has no control groups for it, or none that pass it on");
                }
            }
        }

        void add(Controller controller, String why) {
            if (declared.contains(controller)) {
                reasons.putIfAbsent(controller, why);
            }
        }

        Enforcement result() {
            if (reasons.isEmpty()) {
                return new Enforcement.Enforced();
            }
            List<String> parts = new ArrayList<>();
            reasons.forEach((controller, why) -> parts.add("limits." + controller.word() + " (" + why + ")"));
            return new Enforcement.Unavailable(
                    "can't enforce " + Joiner.on(" and ").join(parts)
                            + "; run homeostat as root or in a unit with Delegate=yes, on a kernel with these controllers");
        }
    }
}
