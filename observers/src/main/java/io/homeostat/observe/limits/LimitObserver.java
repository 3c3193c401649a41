package io.homeostat.observe.limits;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedSet;
import io.homeostat.desired.model.Lifecycle.Limits;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.model.schema.Cpu;
import io.homeostat.desired.model.schema.Size;
import io.homeostat.desired.yaml.IoReason;
import io.homeostat.observe.Observation;
import io.homeostat.observe.limits.ObservedLimits.LimitObstacles;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Reads the limits in force for a workload from its control groups. */
public final class LimitObserver {
    /** The kernel keeps limits in whole pages, the largest of which are 64 KiB. */
    private static final long PAGE = 64 << 10;

    private final CgroupLayout layout;

    public LimitObserver(CgroupLayout layout) {
        this.layout = layout;
    }

    /** How a workload is limited, given its main processes; without any, its groups do not matter. */
    public Observation<ObservedLimits> look(WorkloadId id, ImmutableSet<Long> running) {
        LimitObstacles obstacles = layout.obstacles();
        if (running.isEmpty()) {
            return Observation.seen(new ObservedLimits(Limits.NONE, ImmutableSortedSet.of(), obstacles));
        }
        ImmutableSortedSet.Builder<Long> outside = ImmutableSortedSet.naturalOrder();
        for (long pid : running) {
            switch (holds(id, pid)) {
                case Observation.Unseen<Boolean>(String why) -> {
                    return Observation.unseen(why);
                }
                case Observation.Seen<Boolean>(Boolean inside) -> {
                    if (!inside) {
                        outside.add(pid);
                    }
                }
            }
        }
        return observe(id).map(inForce -> new ObservedLimits(inForce, outside.build(), obstacles));
    }

    /**
     * The limits of a workload's groups; none where it has no group. {@link Limits#required()} cannot be observed and is always false.
     */
    public Observation<Limits> observe(WorkloadId id) {
        try {
            Size memory = null;
            Cpu cpu = null;
            boolean oomGroup = false;
            for (CgroupHierarchy hierarchy : layout.hierarchies()) {
                Optional<Path> group = hierarchy.current(id);
                if (group.isPresent() && hierarchy.controllers().contains(Controller.MEMORY)) {
                    memory = LimitFiles.memory(hierarchy.version(), group.get());
                    oomGroup = LimitFiles.oomGroup(hierarchy.version(), group.get());
                }
                if (group.isPresent() && hierarchy.controllers().contains(Controller.CPU)) {
                    cpu = LimitFiles.cpu(hierarchy.version(), group.get());
                }
            }
            return Observation.seen(new Limits(memory, cpu, false, oomGroup));
        } catch (IOException e) {
            return unseen(id, "limits", e);
        }
    }

    /** Whether the limits in force are the declared ones, as exactly as the kernel can keep them. */
    public static boolean agree(Limits declared, Limits inForce) {
        return agree(declared.memory(), inForce.memory())
                && Objects.equals(declared.cpu(), inForce.cpu())
                && declared.oomGroup() == inForce.oomGroup();
    }

    private static boolean agree(@Nullable Size declared, @Nullable Size inForce) {
        if (declared == null || inForce == null) {
            return declared == null && inForce == null;
        }
        long less = declared.bytes() - inForce.bytes();
        return less >= 0 && less < PAGE;
    }

    /** Whether a process is in all groups of its workload, since limits apply to nothing else. True when there is no group. */
    public Observation<Boolean> holds(WorkloadId id, long pid) {
        try {
            for (CgroupHierarchy hierarchy : layout.hierarchies()) {
                ImmutableList<Path> groups = hierarchy.existing(id);
                if (!groups.isEmpty() && !hierarchy.isIn(groups, pid)) {
                    return Observation.seen(false);
                }
            }
            return Observation.seen(true);
        } catch (IOException e) {
            return unseen(id, "groups", e);
        }
    }

    /** The processes in any of a workload's groups, including groups that the workload created below them. */
    public Observation<ImmutableSortedSet<Long>> pids(WorkloadId id) {
        try {
            ImmutableSortedSet.Builder<Long> pids = ImmutableSortedSet.naturalOrder();
            for (CgroupHierarchy hierarchy : layout.hierarchies()) {
                for (Path group : hierarchy.existing(id)) {
                    pids.addAll(CgroupHierarchy.members(group));
                }
            }
            return Observation.seen(pids.build());
        } catch (IOException e) {
            return unseen(id, "processes", e);
        }
    }

    /** Whether it can be seen which processes are in a workload's groups, and there are groups, so that none is outside. */
    public boolean haveAll(WorkloadId id) {
        return layout.hierarchies().stream()
                        .anyMatch(hierarchy -> !hierarchy.existing(id).isEmpty())
                && pids(id) instanceof Observation.Seen<ImmutableSortedSet<Long>>;
    }

    /**
     * How many processes of a workload the OOM killer has killed since its groups were created. The number grows from launch to launch,
     * so it is compared with the number at launch. 0 without a group.
     */
    public Observation<Long> oomKills(WorkloadId id) {
        try {
            long kills = 0;
            for (CgroupHierarchy hierarchy : layout.hierarchies()) {
                if (hierarchy.controllers().contains(Controller.MEMORY)) {
                    for (Path group : hierarchy.existing(id)) {
                        kills += LimitFiles.oomKills(hierarchy.version(), group);
                    }
                }
            }
            return Observation.seen(kills);
        } catch (IOException e) {
            return unseen(id, "out-of-memory kills", e);
        }
    }

    private static <T> Observation<T> unseen(WorkloadId id, String what, IOException e) {
        return Observation.unseen("can't see the " + what + " of " + id.brief() + ": " + IoReason.withFile(e));
    }
}
