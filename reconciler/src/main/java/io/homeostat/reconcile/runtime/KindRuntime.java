package io.homeostat.reconcile.runtime;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.launch.LaunchDirectories;
import io.homeostat.desired.model.Lifecycle;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Identity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.yaml.IoReason;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.observe.files.FileContent;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.record.Outcome;
import java.io.IOException;

/**
 * Creates and ends the instances of one kind. The planner decides when, and the loop stores what has to survive a crash before it calls.
 * Kinds that can do more also implement {@link Startable}, {@link Configurable}, {@link Reloadable}, {@link Limitable}, {@link Signalable} or {@link
 * Executing}.
 */
public interface KindRuntime {
    /** Creates one instance, which has been stored by now. */
    @FunctionalInterface
    interface Creation {
        /**
         * Creates it, or finds that it exists already.
         *
         * @throws ActuationFailure when it could not be created; parts of it may exist, so it is stopped and destroyed
         */
        Identity create(Instance instance) throws ActuationFailure, InterruptedException;

        /** What was read of files whose contents are part of it, by path; it is stored with the instance. */
        default ImmutableMap<String, FileContent> files() {
            return ImmutableMap.of();
        }
    }

    /**
     * Prepares a creation: everything that may fail before anything has to be stored.
     *
     * @param known launch ids whose notes are still needed; others may be deleted
     */
    Creation prepare(Step.Launch step, ImmutableSet<String> known) throws ActuationFailure, InterruptedException;

    /**
     * Ends an instance and all that belongs to it; nothing of it runs when this returns.
     *
     * @param cleanup whether to tell it to leave nothing behind, because its workload is being removed
     * @param how it is asked to end, and after how long it is ended by force
     * @return how it ended, for people
     */
    String stop(Instance instance, boolean cleanup, Lifecycle.Stop how) throws ActuationFailure, InterruptedException;

    /** Whether a stop must not be repeated, and so has to be stored first. */
    default boolean isStoppedOnce() {
        return false;
    }

    /**
     * Removes what is left of an instance, if anything: after a launch that failed, and after the end is stored where {@link
     * KindTraits#leavesRemains}. Called again when it failed, or when it is not known to have succeeded.
     */
    void destroy(Instance instance) throws ActuationFailure, InterruptedException;

    /** Removes what instances of a workload share and leave behind, once the last one is destroyed. */
    default void remove(WorkloadId id) throws ActuationFailure, InterruptedException {}

    /**
     * Destroys what has ended, and of which only the notes are left, because the database was lost: nobody else would remove it.
     *
     * @param machine whose notes are read
     */
    default void destroyForgotten(WorkloadId id, Machine machine) throws ActuationFailure, InterruptedException {
        try {
            LaunchDirectories launches = new LaunchDirectories(machine.layout(), machine.procFs());
            for (Instance forgotten : launches.forgotten(id, machine.instances().apply(id))) {
                destroy(forgotten);
            }
        } catch (IOException e) {
            throw new ActuationFailure(
                    "what " + id.brief() + " left can't be removed yet: " + IoReason.withFile(e), false, e);
        }
    }

    /** Called by an agent twice a second, and by what launches without one at its end: what has to be done beside the steps, for all instances. */
    default void upkeep() {}

    /** A kind whose instances are told to start after they were created. */
    interface Startable {
        /** Tells an instance to start; called at most once for each. */
        Outcome start(Step.Start step, Instance instance) throws InterruptedException;
    }

    /** A kind whose instances can be given another configuration while they run. */
    interface Configurable {
        Outcome configure(Step.ApplyConfig step, Instance instance) throws ActuationFailure, InterruptedException;
    }

    /** A kind whose instances take signals. */
    interface Signalable {
        /**
         * Finds out all that may keep a signal from being sent to an instance that runs.
         *
         * @param signal its full name
         */
        Sending prepareSignal(Instance instance, String signal) throws ActuationFailure, InterruptedException;

        /** Sends it. */
        @FunctionalInterface
        interface Sending {
            void send() throws ActuationFailure, InterruptedException;
        }
    }

    /** A kind in whose instances commands can be run. */
    interface Executing {
        /** Begins a command in an instance that runs; the caller closes it. */
        Execution exec(Instance instance, Execution.Request request) throws ActuationFailure, InterruptedException;
    }

    /** A kind whose instances can be made to read their files again. */
    interface Reloadable {
        /** Makes an instance do so; called again when it is not known to have succeeded. */
        Outcome reload(Step.Reload step, Instance instance) throws ActuationFailure, InterruptedException;
    }

    /** A kind whose limits can be changed while instances run. */
    interface Limitable {
        Outcome limit(Step.SetLimits step, ImmutableList<ObservedInstance> instances) throws ActuationFailure;

        /** Removes what has kept the limits of a workload of which nothing runs any more; nothing where they end with its instances. */
        default void unlimit(WorkloadId id) throws ActuationFailure, InterruptedException {}
    }
}
