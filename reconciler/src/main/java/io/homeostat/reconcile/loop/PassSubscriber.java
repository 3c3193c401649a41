package io.homeostat.reconcile.loop;

import io.homeostat.actuate.fetch.Progress;
import io.homeostat.desired.model.WorkloadId;

/** Follows the passes of some workloads, and how far their downloads are. */
public interface PassSubscriber extends PassListener {
    /** Hears of a workload's download from now on. */
    Progress download(WorkloadId id);
}
