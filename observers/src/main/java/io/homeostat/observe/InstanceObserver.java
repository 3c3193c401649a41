package io.homeostat.observe;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Instance;

/** Looks at the instances of one kind of workload. */
public interface InstanceObserver {
    /**
     * Finds out what has become of a workload's instances: those that are remembered and those that only the machine knows, oldest first.
     */
    Observation<ImmutableList<ObservedInstance>> look(WorkloadId id, ImmutableList<Instance> instances, Checks checks);
}
