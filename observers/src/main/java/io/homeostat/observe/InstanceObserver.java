package io.homeostat.observe;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Instance;

/** Looks at the instances of one kind of workload. */
public interface InstanceObserver {
    /**
     * What has become of the instances of a workload: of those that are remembered, and of those that only the machine knows, oldest
     * first.
     */
    Observation<ImmutableList<ObservedInstance>> look(WorkloadId id, ImmutableList<Instance> instances, Checks checks);
}
