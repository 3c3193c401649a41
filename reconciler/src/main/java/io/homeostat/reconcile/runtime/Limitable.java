package io.homeostat.reconcile.runtime;

import com.google.common.collect.ImmutableList;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.record.Outcome;

/** A kind whose limits can be changed while instances run. */
public interface Limitable {
    Outcome limit(Step.SetLimits step, ImmutableList<ObservedInstance> instances) throws ActuationFailure;

    /** Removes what limited a workload of which nothing runs any more. */
    void unlimit(WorkloadId id) throws ActuationFailure, InterruptedException;
}
