package io.homeostat.observe;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.ProgramUser;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.model.WorkloadSpec;
import io.homeostat.desired.state.Instance;
import io.homeostat.observe.files.FileContent;
import io.homeostat.observe.host.HostFacts;
import io.homeostat.observe.host.HostFacts.HostFact;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Looks at the machine and changes nothing. Never throws because of what it finds: what cannot be seen is {@link Observation.Unseen}.
 */
public interface Observer {
    /** Looks at one workload, given its remembered launches. */
    ObservedWorkload look(WorkloadId id, ImmutableList<Instance> instances, Checks checks);

    /** Whether a remembered instance is known not to run any more; its children may. */
    boolean isGone(Instance instance);

    /** Why a workload can't be launched as it is declared, for people; empty when nothing is known to be wrong. */
    default String refusal(Workload declared) {
        return "";
    }

    /** Looks at the machine as a whole. Facts that are asked for may take some seconds. */
    HostFacts host(ImmutableSet<HostFact> asked);

    /**
     * What is at each of these absolute paths.
     *
     * @param user with whose rights they are read; null: our own
     */
    ImmutableMap<String, FileContent> files(@Nullable ProgramUser user, ImmutableSet<String> paths);

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

        /** Returns whether another workload, of which nothing is left, may come back and say what has become of an instance. */
        default boolean mayReturn(WorkloadId other) {
            return true;
        }

        /**
         * The checks of a workload that was declared once and is not any more: there are none.
         *
         * @param declared whether another workload is
         */
        static Checks withdrawn(Predicate<WorkloadId> declared) {
            return new Checks() {
                @Override
                public @Nullable WorkloadSpec of(Instance instance) {
                    return null;
                }

                @Override
                public boolean mayReturn(WorkloadId other) {
                    return declared.test(other);
                }
            };
        }
    }
}
