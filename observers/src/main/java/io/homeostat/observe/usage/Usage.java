package io.homeostat.observe.usage;

import java.time.Instant;

/**
 * What the whole process tree of a workload used.
 *
 * @param at end of the interval
 * @param cpuPercent of one core, over the interval that ended then; above 100 on several cores, never negative
 * @param memoryBytes at the end of the interval
 */
public record Usage(Instant at, double cpuPercent, long memoryBytes) {}
