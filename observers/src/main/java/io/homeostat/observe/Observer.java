package io.homeostat.observe;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.model.WorkloadSpec;
import io.homeostat.desired.state.Instance;
import io.homeostat.observe.host.HostFacts;
import io.homeostat.observe.host.HostFacts.HostFact;
import io.homeostat.observe.limits.ObservedLimits;
import org.jspecify.annotations.Nullable;

/**
 * Looks at the machine and changes nothing. Never throws because of what it finds: what cannot be seen is {@link Observation.Unseen}.
 */
public interface Observer {
    /** Looks at one workload, given its remembered launches. */
    ObservedWorkload look(WorkloadId id, ImmutableList<Instance> instances, Checks checks);

    /** Looks at the machine as a whole. Facts that are asked for may take some seconds. */
    HostFacts host(ImmutableSet<HostFact> asked);

    /** Keys of the complete archives in the cache. */
    Observation<ImmutableSet<String>> archives();

    /** Every workload that has left a trace on the machine, whoever declared it. */
    Observation<ImmutableSet<WorkloadId>> traces();

    /** Which declaration's health check applies to a launch: after a rollback it is not the newest one. */
    @FunctionalInterface
    interface Checks {
        /** Checks nothing. */
        Checks NONE = instance -> null;

        /** Null when its health is not to be checked. */
        @Nullable
        WorkloadSpec of(Instance instance);
    }

    /** Looks at the instances of one kind of workload. */
    interface InstanceObserver extends AutoCloseable {
        /**
         * Finds out what has become of a workload's instances: those that are remembered and those that only the machine knows, oldest first.
         */
        Observation<ImmutableList<ObservedInstance>> look(
                WorkloadId id, ImmutableList<Instance> instances, Checks checks);

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
}
