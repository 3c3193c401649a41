package io.homeostat.reconcile.loop;

import io.homeostat.desired.model.WorkloadId;

/** The end of what a workload has written. */
public interface LogTails {
    /** The last lines, at most 30; empty when there are none or they can't be read. */
    String lastLines(WorkloadId id);
}
