package io.homeostat.reconcile.runtime;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Identity;
import io.homeostat.desired.state.Instance;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.record.Outcome;
import java.time.Duration;

/**
 * Creates and ends the instances of one kind. Decides nothing: the planner does, and the loop writes down what has to be known before it
 * calls. Kinds that can do more also implement {@link Startable}, {@link Configurable} or {@link Limitable}.
 */
public interface KindRuntime {
    /** Creates one instance, which is written down by now. */
    @FunctionalInterface
    interface Creation {
        /**
         * Creates it, or finds that it was created before.
         *
         * @throws ActuationFailure when it could not be created; something may exist all the same, so it is stopped and destroyed
         */
        Identity create(Instance instance) throws ActuationFailure, InterruptedException;
    }

    /**
     * Gets ready to create an instance: all that may fail without anything having to be remembered.
     *
     * @param known launch ids of which something may still have to be found out; notes on others may go
     */
    Creation prepare(Step.Launch step, ImmutableSet<String> known) throws ActuationFailure;

    /**
     * Ends an instance with all that belongs to it; nothing of it runs when this returns.
     *
     * @param cleanup whether it is told to leave nothing behind, because its workload is being removed
     * @param timeout from now until it is ended by force
     * @return how it ended, for people
     */
    String stop(Instance instance, boolean cleanup, Duration timeout) throws ActuationFailure, InterruptedException;

    /** Whether a stop must not be repeated, so that it is written down before. */
    default boolean isStoppedOnce() {
        return false;
    }

    /** Removes what is left of an instance that has ended. No error when there is nothing. */
    void destroy(WorkloadId id, String launchId) throws ActuationFailure;

    /** A kind whose instances are told to start after they were created. */
    interface Startable {
        /** Tells an instance to start; called at most once for each. */
        Outcome start(Step.Start step, Instance instance) throws InterruptedException;
    }

    /** A kind whose instances can be given another configuration while they run. */
    interface Configurable {
        Outcome configure(Step.ApplyConfig step, Instance instance) throws InterruptedException;
    }

    /** A kind whose limits can be changed while instances run. */
    interface Limitable {
        Outcome limit(Step.SetLimits step, ImmutableList<ObservedInstance> instances) throws ActuationFailure;

        /** Removes what limited a workload of which nothing runs any more. */
        void unlimit(WorkloadId id) throws ActuationFailure, InterruptedException;
    }
}
