package io.homeostat.actuate;

import com.google.common.collect.ImmutableList;
import java.nio.file.Path;

/**
 * How a process gets into the groups of its workload.
 *
 * @param procs absolute paths of {@code cgroup.procs} files: before it becomes the program, the process writes itself into each of
 *     them, as {@code 0}, which is whoever writes. In a subshell {@code $$} would be another process
 * @param enforcement whether all declared limits hold for it then
 */
public record CgroupPlan(ImmutableList<Path> procs, Enforcement enforcement) {}
