package io.homeostat.actuate.limits;

import com.google.common.collect.ImmutableList;
import io.homeostat.observe.Observation;
import java.nio.file.Path;

/**
 * How a process gets into the groups of its workload.
 *
 * @param procs absolute paths of {@code cgroup.procs} files: before it becomes the program, the process writes itself into each of
 *     them, as {@code 0}, which is whoever writes. In a subshell {@code $$} would be another process
 * @param enforcement whether all declared limits hold for it then
 * @param required whether there is to be no process that could not get into all of them
 * @param oomKills how many processes of the workload the kernel has killed for want of memory so far
 */
public record CgroupPlan(
        ImmutableList<Path> procs, LimitResult enforcement, boolean required, Observation<Long> oomKills) {
    /** Nothing to get into. */
    public static final CgroupPlan NONE = new CgroupPlan(
            ImmutableList.of(), new LimitResult.Enforced(), false, Observation.unseen("no control groups are used"));
}
