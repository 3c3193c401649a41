package io.homeostat.reconcile.command.output;

import io.homeostat.actuate.fetch.Progress;
import io.homeostat.desired.model.WorkloadId;

/** Shows people how a convergence goes. Called from many threads. */
public interface Display extends AutoCloseable {
    /** What a workload is at now. */
    void under(WorkloadId id, String what);

    /** A workload has come to an end, good or bad. */
    void result(WorkloadResult result);

    /** A workload has come to the same end again, that was told already: it waited for others, or they for it. */
    void again(WorkloadId id);

    /** How far a workload's download is. */
    Progress download(WorkloadId id);

    @Override
    void close();
}
