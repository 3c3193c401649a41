package io.homeostat.reconcile.loop;

import io.homeostat.desired.model.WorkloadId;

/**
 * One pass over one workload.
 *
 * @param number counts all passes of this process, from 1
 */
public record PassId(WorkloadId workload, long number, Trigger trigger) {}
