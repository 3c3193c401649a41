package io.homeostat.reconcile.loop;

import io.homeostat.actuate.fetch.Downloader.Progress;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.reconcile.plan.Step;
import java.util.Set;

/** Is told what passes do, on the thread that does it. */
public interface PassListener {
    /** A pass begins: what it sees and does goes by what is declared from now on. */
    default void begun(PassId pass) {}

    /** Who hears of a workload's download from now on. */
    default Progress download(WorkloadId id) {
        return Progress.NONE;
    }

    /** A step is about to be executed. */
    void starting(Step step);

    /** What a pass, which is about to be over, has brought about may make a difference to others: a pass of each follows. */
    default void concerned(Set<WorkloadId> others) {}

    /** A pass is over. */
    void finished(WorkloadId id, PassResult next);

    /** A pass broke off with something that should not happen; the workload is looked at again later. */
    void broken(WorkloadId id, Throwable problem);
}
