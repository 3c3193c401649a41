package io.homeostat.reconcile.loop;

import io.homeostat.actuate.fetch.Downloader.Progress;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.reconcile.plan.Situation;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.plan.WorkloadPlan;
import java.util.Set;

/** Hears what passes do, on the thread of the pass. */
public interface PassListener {
    /** A pass begins; it reads what is declared after this call. */
    default void begun(PassId pass) {}

    /** A pass has looked at a workload, stored what it learned, and will do the first step of this plan, if it has one. */
    default void looked(Situation situation, WorkloadPlan plan) {}

    /** Receives the progress of a download that begins now. */
    default Progress download(WorkloadId id) {
        return Progress.NONE;
    }

    /** A step is about to be executed. */
    default void starting(Step step) {}

    /** A pass that is about to end may have changed something for these workloads; each of them gets a pass. */
    default void concerned(Set<WorkloadId> others) {}

    /** A pass is over. */
    default void finished(WorkloadId id, PassResult next) {}

    /** A pass failed with an unexpected exception; another one follows later. */
    default void broken(WorkloadId id, Throwable problem) {}
}
