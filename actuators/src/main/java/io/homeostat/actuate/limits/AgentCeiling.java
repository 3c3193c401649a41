package io.homeostat.actuate.limits;

import com.google.common.collect.ImmutableList;
import io.homeostat.actuate.Disk;
import io.homeostat.actuate.limits.LimitEnforcer.LimitResult;
import io.homeostat.desired.model.Lifecycle.Limits;
import io.homeostat.observe.limits.AgentGroup;
import io.homeostat.observe.limits.CgroupLayout;
import io.homeostat.observe.limits.Controller;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Bounds what the agent itself takes, with its hooks: a control group of its own, in which neither workloads nor their
 * keepers are. A ceiling that cannot be held is a result, and keeps the agent from nothing.
 */
public final class AgentCeiling {
    private static final Logger LOG = LoggerFactory.getLogger(AgentCeiling.class);

    private final AgentGroup place;
    private final Path keepers;
    private final ControlFiles files;
    private final LimitEnforcer enforcer;
    private Optional<LimitResult.Unavailable> obstacle = Optional.empty();

    /** @param keepers the group for what is not the agent's */
    public AgentCeiling(AgentGroup place, Path keepers) {
        this(place, keepers, ControlFiles.ofTheKernel());
    }

    AgentCeiling(AgentGroup place, Path keepers, ControlFiles files) {
        this.place = place;
        this.keepers = keepers;
        this.files = files;
        this.enforcer = new LimitEnforcer(new CgroupLayout(ImmutableList.of(place.unit())), files);
    }

    /**
     * Moves us into our group, and all others in it and above to the keepers: what a former agent has left behind. So before we start
     * anything.
     */
    public LimitResult enter(long self, Limits limits) {
        try {
            files.makeGroup(place.group());
            files.write(place.group().resolve("cgroup.procs"), Long.toString(self));
            Path parent = keepers.getParent();
            if (parent != null) {
                files.makeGroup(parent);
            }
            files.makeGroup(keepers);
            // 0 is somebody outside our namespace; to write it would move us.
            ImmutableList<Path> left = ImmutableList.of(place.unit().home(), place.group(), former());
            if (files.move(left, keepers, pid -> pid != self && pid != 0)) {
                LOG.debug("moved what a former agent has left behind to {}", keepers);
            }
            removeFormer();
        } catch (IOException e) {
            obstacle = Optional.of(
                    new LimitResult.Unavailable("it can't have a control group of its own: " + Disk.reason(e)));
        }
        return hold(limits);
    }

    /** The group that a former agent had with, or without, DelegateSubgroup. */
    private Path former() {
        return place.unit()
                .home()
                .resolve(place.group().endsWith(AgentGroup.SUPERVISOR) ? CgroupLayout.AGENT : AgentGroup.SUPERVISOR);
    }

    /** By what there is the unit knows, when it ends, whether controllers may still be passed down. */
    private void removeFormer() {
        try {
            files.removeGroup(former());
        } catch (IOException e) {
            LOG.warn("the control group {} of a former agent can't be removed: {}", former(), Disk.reason(e));
        }
    }

    /** Sets the limits of our group, unless we could not enter it. */
    public LimitResult hold(Limits limits) {
        return obstacle.<LimitResult>map(each -> each).orElseGet(() -> enforcer.bound(place.group(), limits));
    }

    /** Lets systemd start the unit again in its own group, where it has started us; the unit does that for an agent that crashes. */
    public void leave() {
        if (!place.group().endsWith(AgentGroup.SUPERVISOR)) {
            return;
        }
        for (Controller controller : place.unit().controllers()) {
            try {
                files.write(place.unit().home().resolve("cgroup.subtree_control"), "-" + controller.word());
            } catch (IOException e) {
                LOG.warn(
                        "the control group {} can't be left as it was: {}",
                        place.unit().home(),
                        Disk.reason(e));
            }
        }
    }
}
