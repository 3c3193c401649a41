package io.homeostat.observe;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Instance;
import io.homeostat.observe.Observer.Checks;
import io.homeostat.observe.limits.ObservedLimits;

/** Looks at the instances of one kind of workload. */
public interface InstanceObserver extends AutoCloseable {
    /**
     * Finds out what has become of a workload's instances: those that are remembered and those that only the machine knows, oldest first.
     */
    Observation<ImmutableList<ObservedInstance>> look(WorkloadId id, ImmutableList<Instance> instances, Checks checks);

    /** How those that were found are limited. A kind whose runtime sets limits has to answer, or they are set again and again. */
    default Observation<ObservedLimits> limits(WorkloadId id, ImmutableList<ObservedInstance> found) {
        return Observation.seen(ObservedLimits.NONE);
    }

    /**
     * Begins to wait for the end of an instance that is no process of this host; those are waited for by pidfd. Nothing by default:
     * such an end is seen by the next look.
     *
     * @param instance with its identity
     * @param ended to be called once, from any thread, when it has ended or has already; never after {@link #close}. Does not block
     */
    default void watch(Instance instance, Runnable ended) {}

    @Override
    default void close() {}
}
