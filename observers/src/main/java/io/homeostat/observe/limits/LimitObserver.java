package io.homeostat.observe.limits;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedSet;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.model.lifecycle.Limits;
import io.homeostat.desired.model.schema.Cpu;
import io.homeostat.desired.model.schema.Size;
import io.homeostat.observe.Observation;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** What the kernel limits of a workload, read from its control groups. */
public final class LimitObserver {
    /** Limits are kept in whole pages, the largest of which are 64 KiB. */
    private static final long PAGE = 64 << 10;

    private final CgroupLayout layout;

    public LimitObserver(CgroupLayout layout) {
        this.layout = layout;
    }

    /**
     * How a workload is limited.
     *
     * @param running its main processes; without any, its groups are of no interest
     */
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
     * The limits of a workload's groups; of what has no group there is none. {@link Limits#required()} is nothing that can be
     * seen, and always false.
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

    /** Whether what is in force is what was declared, as exactly as the kernel can keep it. */
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

    /**
     * Whether a process is in all the groups that its workload has: limits hold for nobody else. True when there is no group, since
     * then there is nothing to be in.
     */
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

    /** The processes in any of a workload's groups, groups that it made itself below them included. */
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

    /**
     * How many processes of a workload the kernel has killed for want of memory since its groups were made; the number grows over
     * launches, so it is compared with what it was at the launch. 0 without a group.
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
        return Observation.unseen("could not look at the " + what + " of " + id + ": " + e.getMessage());
    }
}
