package io.homeostat.reconcile.agent;

import com.google.common.collect.Iterables;
import io.homeostat.actuate.Disk;
import io.homeostat.actuate.limits.AgentCeiling;
import io.homeostat.actuate.limits.LimitEnforcer.LimitResult;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.model.Lifecycle.Limits;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.platform.MountTable;
import io.homeostat.desired.platform.MountTable.Mount;
import io.homeostat.observe.limits.AgentGroup;
import io.homeostat.observe.limits.CgroupLayout;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The control group of the agent itself, where it has one: bounded as agent.yaml says. */
final class OwnGroup implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(OwnGroup.class);

    private final Optional<AgentCeiling> ceiling;
    private final boolean isMemoryBounded;

    private OwnGroup(Optional<AgentCeiling> ceiling, boolean isMemoryBounded) {
        this.ceiling = ceiling;
        this.isMemoryBounded = isMemoryBounded;
    }

    /**
     * Enters it; so before the agent starts any process.
     *
     * @param cgroups where control groups are mounted
     * @param isAsked whether its unit has {@link AgentGroup#OPTION}
     * @param mount that the state directory is on
     */
    static OwnGroup enter(
            Path cgroups, Path proc, boolean isAsked, Layout layout, Optional<Mount> mount, AgentConfig.Bounds bounds) {
        // A group is found where all is of version 2, which is one hierarchy.
        Optional<AgentCeiling> ceiling = AgentGroup.find(cgroups, proc, isAsked)
                .map(place -> new AgentCeiling(
                        place,
                        Iterables.getOnlyElement(CgroupLayout.detect(cgroups, proc, CgroupLayout.name(layout))
                                        .hierarchies())
                                .keepers()));
        // What is written there is memory, which the kernel counts to whoever writes it and can't take back.
        Optional<Mount> inMemory = mount.filter(Mount::isInMemory);
        OwnGroup group = new OwnGroup(ceiling, inMemory.isEmpty());
        if (ceiling.isEmpty()) {
            LOG.debug("nothing but its heap bounds the agent");
        } else {
            inMemory.ifPresent(memory -> LOG.warn(
                    "limits.memory does not hold for the agent: {} is on {}, and what is written there would count; move it to a disk",
                    layout.stateDir(),
                    memory.type()));
        }
        ceiling.ifPresent(each -> tell(each.enter(ProcessHandle.current().pid(), group.limits(bounds))));
        return group;
    }

    /** What a directory is on; empty when that is not to be seen. */
    static Optional<Mount> mount(Path directory) {
        try {
            return MountTable.read(Path.of("/proc/self/mountinfo")).of(directory.toRealPath());
        } catch (IOException e) {
            LOG.debug("which file system {} is on can't be seen: {}", directory, Disk.reason(e));
            return Optional.empty();
        }
    }

    /** Bounds it anew. */
    void use(AgentConfig.Bounds bounds) {
        ceiling.ifPresent(each -> tell(each.hold(limits(bounds))));
    }

    private Limits limits(AgentConfig.Bounds bounds) {
        return new Limits(isMemoryBounded ? bounds.memory() : null, bounds.cpu(), false);
    }

    private static void tell(LimitResult result) {
        if (result instanceof LimitResult.Unavailable(String reason)) {
            LOG.warn("the agent itself is not fully bounded: {}", reason);
        }
    }

    @Override
    public void close() {
        ceiling.ifPresent(AgentCeiling::leave);
    }
}
