package io.homeostat.observe.limits;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.Iterables;
import io.homeostat.desired.model.Lifecycle.Limits;
import io.homeostat.observe.limits.CgroupHierarchy.Version;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/**
 * The control group of version 2 in which an agent is bounded that systemd has started, below the one that is delegated to its unit.
 * Looks and changes nothing.
 *
 * @param unit what is delegated
 * @param group the agent's own, {@value CgroupLayout#AGENT} where systemd starts it there (DelegateSubgroup, from version 254 on), else
 *     {@value #SUPERVISOR}, which may have to be made
 */
public record AgentGroup(CgroupHierarchy unit, Path group) {
    /** Another name than systemd's: the unit's own group is to be left free then, see {@link CgroupLayout}. */
    public static final String SUPERVISOR = "supervisor";

    /**
     * The variable of a unit that undoes what an agent leaves there, before it is started again: systemd can't start it in a group that
     * passes controllers down.
     */
    public static final String OPTION = "HOMEOSTAT_OWN_GROUP";

    /** Who can't enter the group runs in ours. With another command after it, no shell executes the last one in its own place. */
    private static final String APART = "[ -z \"$1\" ] || { echo 0 >\"$1\"; } 2>/dev/null; shift; \"$@\"; exit $?";

    /**
     * Where this process may be bounded; empty when nothing is delegated to it, or systemd could not start it again there.
     *
     * @param isAsked whether its unit has {@link #OPTION}: any other is somebody else's, who may have more in it than an agent, or is from
     *     before there was such a group
     */
    public static Optional<AgentGroup> find(Path root, Path proc, boolean isAsked) {
        return isAsked && CgroupLayout.isUnified(root)
                ? CgroupLayout.own(root, proc.resolve("self")).flatMap(own -> inUnit(root, own))
                : Optional.empty();
    }

    private static Optional<AgentGroup> inUnit(Path root, Path own) {
        Path above = own.getParent();
        Path unit = isOne(own) && above != null ? above : own;
        boolean stays = !unit.equals(own);
        if (!CgroupLayout.isDelegated(unit) || !(stays || CgroupLayout.couldNotBeStartedAgain(own, root))) {
            return Optional.empty();
        }
        ImmutableSet<Controller> controllers = ImmutableSet.copyOf(CgroupLayout.controllers(unit));
        CgroupHierarchy hierarchy =
                new CgroupHierarchy(Version.V2, controllers, unit, ImmutableList.of(), ImmutableList.of(unit));
        return controllers.isEmpty()
                ? Optional.empty()
                : Optional.of(new AgentGroup(hierarchy, stays ? own : own.resolve(SUPERVISOR)));
    }

    /** What bounds an agent, whose directory in /proc this is; empty when it has no group of its own. */
    public static Optional<Limits> limits(Path root, Path process) throws IOException {
        Optional<Path> group = CgroupLayout.isUnified(root)
                ? CgroupLayout.own(root, process).filter(AgentGroup::isOne)
                : Optional.empty();
        if (group.isEmpty()) {
            return Optional.empty();
        }
        Path own = group.get();
        return Optional.of(new Limits(
                Files.exists(own.resolve("memory.max")) ? LimitFiles.memory(Version.V2, own) : null,
                Files.exists(own.resolve("cpu.max")) ? LimitFiles.cpu(Version.V2, own) : null,
                false));
    }

    /**
     * What precedes a command that a workload's user can influence, and keeps it apart from us: a shell is its parent, as one that has
     * itself traced by its parent, PTRACE_TRACEME in ptrace(2), is never collected by the JVM; and where we have a group of our own, it
     * runs in that of the keepers, or that user could take so much memory that the kernel ends us.
     */
    public static ImmutableList<String> apart(CgroupLayout layout) {
        return apart(layout, Path.of("/sys/fs/cgroup"), Path.of("/proc"));
    }

    static ImmutableList<String> apart(CgroupLayout layout, Path root, Path proc) {
        boolean isBounded = CgroupLayout.isUnified(root)
                && CgroupLayout.own(root, proc.resolve("self"))
                        .filter(AgentGroup::isOne)
                        .isPresent();
        String keepers = isBounded
                ? Iterables.getOnlyElement(layout.hierarchies())
                        .keepers()
                        .resolve("cgroup.procs")
                        .toString()
                : "";
        return ImmutableList.of("/bin/sh", "-c", APART, "homeostat", keepers);
    }

    private static boolean isOne(Path group) {
        return group.endsWith(CgroupLayout.AGENT) || group.endsWith(SUPERVISOR);
    }
}
