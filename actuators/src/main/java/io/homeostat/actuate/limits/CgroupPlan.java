package io.homeostat.actuate.limits;

import com.google.common.collect.ImmutableList;
import io.homeostat.observe.Observation;
import java.nio.file.Path;

/**
 * How a process joins the groups of its workload.
 *
 * @param procs absolute paths of {@code cgroup.procs} files: before it becomes the program, the process writes {@code 0}, which means the
 *     writer, into each of them; in a subshell {@code $$} would be another process
 * @param enforcement whether all declared limits then apply to it
 * @param required whether a process that cannot join all of them must not run
 * @param oomKills how many processes of the workload the OOM killer has killed so far
 */
public record CgroupPlan(
        ImmutableList<Path> procs, LimitResult enforcement, boolean required, Observation<Long> oomKills) {
    /** No groups to join. */
    public static final CgroupPlan NONE = new CgroupPlan(
            ImmutableList.of(), new LimitResult.Enforced(), false, Observation.unseen("no control groups are used"));
}
