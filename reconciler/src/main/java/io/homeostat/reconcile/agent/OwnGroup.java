package io.homeostat.reconcile.agent;

import io.homeostat.actuate.limits.AgentCeiling;
import io.homeostat.actuate.limits.LimitEnforcer.LimitResult;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.model.Lifecycle.Limits;
import io.homeostat.desired.platform.Layout;
import io.homeostat.observe.limits.AgentGroup;
import io.homeostat.observe.limits.CgroupLayout;
import java.nio.file.Path;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The control group of the agent itself, where it has one: bounded as agent.yaml says. */
final class OwnGroup implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(OwnGroup.class);

    private final Optional<AgentCeiling> ceiling;

    private OwnGroup(Optional<AgentCeiling> ceiling) {
        this.ceiling = ceiling;
    }

    /**
     * Enters it; so before the agent starts any process.
     *
     * @param cgroups where control groups are mounted
     * @param mayMove whether its unit has {@link AgentGroup#OPTION}
     */
    static OwnGroup enter(Path cgroups, Path proc, boolean mayMove, Layout layout, AgentConfig.Bounds bounds) {
        Optional<AgentCeiling> ceiling = AgentGroup.find(cgroups, proc, mayMove)
                .map(place -> new AgentCeiling(place, CgroupLayout.detect(cgroups, proc, CgroupLayout.name(layout))));
        if (ceiling.isEmpty()) {
            LOG.debug("nothing but its heap bounds the agent, which has no control group of its own");
        }
        ceiling.ifPresent(each -> tell(each.enter(ProcessHandle.current().pid(), limits(bounds))));
        return new OwnGroup(ceiling);
    }

    /** Bounds it anew. */
    void use(AgentConfig.Bounds bounds) {
        ceiling.ifPresent(each -> tell(each.hold(limits(bounds))));
    }

    private static Limits limits(AgentConfig.Bounds bounds) {
        return new Limits(bounds.memory(), bounds.cpu(), false);
    }

    private static void tell(LimitResult result) {
        if (result instanceof LimitResult.Unavailable(String reason)) {
            LOG.warn("the agent takes what it gets: {}", reason);
        }
    }

    @Override
    public void close() {
        ceiling.ifPresent(AgentCeiling::leave);
    }
}
