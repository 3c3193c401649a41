package io.homeostat.actuate.limits;

import com.google.common.base.Splitter;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import io.homeostat.actuate.Disk;
import io.homeostat.desired.model.Lifecycle.Limits;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.observe.Observation;
import io.homeostat.observe.limits.CgroupHierarchy;
import io.homeostat.observe.limits.CgroupLayout;
import io.homeostat.observe.limits.Controller;
import io.homeostat.observe.limits.LimitFiles;
import io.homeostat.observe.limits.LimitObserver;
import io.homeostat.observe.limits.ObservedLimits.LimitObstacles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.Map;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Limits workloads with control groups, which {@link GroupRemover} removes again. A limit that cannot be enforced is a result, not a
 * failure: the declaration decides whether the workload may run without it.
 *
 * <p>Every workload has groups, limited or not, so that a limit declared later applies to all of its processes.
 */
public final class LimitEnforcer {
    private static final int MAKING_ROUNDS = 10;

    private static final Logger LOG = LoggerFactory.getLogger(LimitEnforcer.class);

    private final CgroupLayout layout;
    private final ControlFiles files;

    public LimitEnforcer(CgroupLayout layout) {
        this(layout, ControlFiles.ofTheKernel());
    }

    LimitEnforcer(CgroupLayout layout, ControlFiles files) {
        this.layout = layout;
        this.files = files;
    }

    /** Creates the groups of a workload and sets their limits, before its process is launched. */
    public CgroupPlan prepare(WorkloadId id, Limits limits) {
        UnenforcedLimits lacking = new UnenforcedLimits(layout, limits);
        ImmutableList.Builder<Path> procs = ImmutableList.builder();
        Optional<Path> keeper = Optional.empty();
        for (CgroupHierarchy hierarchy : layout.hierarchies()) {
            Optional<Path> group = make(hierarchy, hierarchy.group(id), lacking);
            if (group.isPresent()) {
                setLimits(hierarchy, group.get(), limits, lacking);
                procs.add(group.get().resolve("cgroup.procs"));
                keeper = keeper.or(() -> keepers(hierarchy));
            }
        }
        return new CgroupPlan(
                keeper,
                procs.build(),
                lacking.result(),
                limits.required() && limits.areAny(),
                new LimitObserver(layout).oomKills(id));
    }

    /**
     * Sets the limits of running processes: creates missing groups, and moves in processes that are outside. Version 1 does not count the
     * memory that a process had before.
     */
    public LimitResult apply(WorkloadId id, Limits limits, Iterable<Long> pids) {
        UnenforcedLimits lacking = new UnenforcedLimits(layout, limits);
        for (CgroupHierarchy hierarchy : layout.hierarchies()) {
            ImmutableList<Path> groups = hierarchy.existing(id);
            if (groups.isEmpty()) {
                groups = make(hierarchy, hierarchy.group(id), lacking)
                        .map(ImmutableList::of)
                        .orElse(ImmutableList.of());
            }
            for (Path group : groups) {
                setLimits(hierarchy, group, limits, lacking);
            }
            if (!groups.isEmpty()) {
                moveIn(hierarchy, groups, pids, lacking);
            }
        }
        return lacking.result();
    }

    /** Bounds a group that is no workload's. */
    LimitResult bound(Path group, Limits limits) {
        UnenforcedLimits lacking = new UnenforcedLimits(layout, limits);
        for (CgroupHierarchy hierarchy : layout.hierarchies()) {
            make(hierarchy, group, lacking).ifPresent(made -> setLimits(hierarchy, made, limits, lacking));
        }
        return lacking.result();
    }

    /** Only in version 2: in version 1 nobody bounds the agent, whose groups keepers are in then. */
    private Optional<Path> keepers(CgroupHierarchy hierarchy) {
        if (hierarchy.version() == CgroupHierarchy.Version.V1) {
            return Optional.empty();
        }
        try {
            files.makeGroup(hierarchy.keepers());
            return Optional.of(hierarchy.keepers().resolve("cgroup.procs"));
        } catch (IOException e) {
            LOG.warn("keepers stay in the agent's control group: {}", refused(e));
            return Optional.empty();
        }
    }

    private Optional<Path> make(CgroupHierarchy hierarchy, Path group, UnenforcedLimits lacking) {
        for (int round = 1; ; round++) {
            try {
                makeHome(hierarchy, lacking);
                files.makeGroup(group);
                return Optional.of(group);
            } catch (IOException e) {
                // Whoever removes the last of the other workloads removes the parent too.
                boolean removedMeanwhile = e instanceof NoSuchFileException && round < MAKING_ROUNDS;
                if (!removedMeanwhile) {
                    hierarchy.controllers().forEach(controller -> lacking.add(controller, refused(e)));
                    return Optional.empty();
                }
            }
        }
    }

    private void moveIn(
            CgroupHierarchy hierarchy, ImmutableList<Path> groups, Iterable<Long> pids, UnenforcedLimits lacking) {
        for (long pid : pids) {
            try {
                if (!hierarchy.isIn(groups, pid)) {
                    files.write(groups.getFirst().resolve("cgroup.procs"), Long.toString(pid));
                }
            } catch (IOException e) {
                if (ProcessHandle.of(pid).filter(ProcessHandle::isAlive).isPresent()) {
                    String why = "process " + pid + " can't be moved into its group: " + refused(e);
                    hierarchy.controllers().forEach(controller -> lacking.add(controller, why));
                }
            }
        }
    }

    private void makeHome(CgroupHierarchy hierarchy, UnenforcedLimits lacking) throws IOException {
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
                    // One by one: an unavailable controller must not keep the others from being enabled.
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
            // Enabling it will show what is wrong.
            return false;
        }
    }

    /** Moves our own processes down a level: a group that passes controllers down must not contain any. */
    private void makeRoom(Path home) throws IOException {
        if (!CgroupHierarchy.processes(home).isEmpty()) {
            Path agent = home.resolve(CgroupLayout.AGENT);
            files.makeGroup(agent);
            files.move(ImmutableList.of(home), agent, _ -> true);
        }
    }

    private void setLimits(CgroupHierarchy hierarchy, Path group, Limits limits, UnenforcedLimits lacking) {
        for (Controller controller : hierarchy.controllers()) {
            try {
                for (Map.Entry<String, String> each : LimitFiles.contents(hierarchy.version(), controller, limits)
                        .entrySet()) {
                    Path file = group.resolve(each.getKey());
                    boolean unknown = each.getKey().equals(LimitFiles.OOM_GROUP) && !limits.oomGroup();
                    if (!unknown || Files.exists(file)) {
                        files.write(file, each.getValue());
                    }
                }
            } catch (IOException e) {
                lacking.add(controller, refused(e));
            }
        }
    }

    private static String refused(IOException e) {
        return Disk.reason(e);
    }

    /** Limits that could not be set, and why; the first reason counts. */
    private static final class UnenforcedLimits {
        private final Limits limits;
        private final String oomGroup;
        private final Map<Controller, String> reasons = new EnumMap<>(Controller.class);

        UnenforcedLimits(CgroupLayout layout, Limits limits) {
            this.limits = limits;
            this.oomGroup = layout.obstacles().oomGroup();
            for (Controller controller : Controller.values()) {
                if (layout.hierarchies().stream()
                        .noneMatch(hierarchy -> hierarchy.controllers().contains(controller))) {
                    add(controller, CgroupLayout.NO_CONTROLLER);
                }
            }
        }

        void add(Controller controller, String why) {
            reasons.putIfAbsent(controller, why);
        }

        LimitResult result() {
            return new LimitObstacles(ImmutableMap.copyOf(reasons), oomGroup)
                    .against(limits)
                    .<LimitResult>map(LimitResult.Unavailable::new)
                    .orElseGet(LimitResult.Enforced::new);
        }
    }

    /** Whether the declared limits are enforced. */
    public sealed interface LimitResult {

        /** All of them are, or there are none. */
        record Enforced() implements LimitResult {}

        /** Some or all are not; which, why, and what to do, for people. */
        record Unavailable(String reason) implements LimitResult {}
    }

    /**
     * How a process joins the groups of its workload.
     *
     * @param keeper the {@code cgroup.procs} of the group for whoever waits for the process; empty where that stays in ours
     * @param procs absolute paths of {@code cgroup.procs} files, into each of which the process writes {@code 0} (the writer) before it
     *     becomes the program; in a subshell {@code $$} would be another process
     * @param required whether a process that cannot join all of them must not run
     * @param oomKills how many processes of the workload the OOM killer has killed so far
     */
    public record CgroupPlan(
            Optional<Path> keeper,
            ImmutableList<Path> procs,
            LimitResult enforcement,
            boolean required,
            Observation<Long> oomKills) {
        public static final CgroupPlan NONE = new CgroupPlan(
                Optional.empty(),
                ImmutableList.of(),
                new LimitResult.Enforced(),
                false,
                Observation.unseen("no control groups are used"));
    }
}
