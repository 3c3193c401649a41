package io.homeostat.observe;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Instance;
import io.homeostat.observe.host.HostFact;
import io.homeostat.observe.host.HostFacts;

/**
 * Looks at the machine and changes nothing. Never throws because of what it finds: what cannot be seen is {@link Observation.Unseen}.
 */
public interface Observer {
    /**
     * Looks at one workload.
     *
     * @param instances what is remembered of its launches
     * @param checks how to check the health of what runs
     */
    ObservedWorkload look(WorkloadId id, ImmutableList<Instance> instances, Checks checks);

    /**
     * Looks at the machine as a whole.
     *
     * @param asked facts to find out besides what is always known; this may take some seconds
     */
    HostFacts host(ImmutableSet<HostFact> asked);

    /** Keys of the complete archives in the cache. */
    Observation<ImmutableSet<String>> archives();

    /** Every workload that has left a trace on the machine, whoever declared it. */
    Observation<ImmutableSet<WorkloadId>> traces();
}
