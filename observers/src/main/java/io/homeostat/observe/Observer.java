package io.homeostat.observe;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.model.WorkloadSpec;
import io.homeostat.desired.store.Handle;
import org.jspecify.annotations.Nullable;

/** Looks at the machine and changes nothing. Never throws for what the machine is like: what can't be seen is {@link Observation.Unseen}. */
public interface Observer {
    /**
     * Looks at one workload.
     *
     * @param handles what is remembered of its launches
     * @param spec says how to check its health; null when it is not declared, and its health is nobody's concern
     */
    ObservedWorkload look(WorkloadId id, ImmutableList<Handle> handles, @Nullable WorkloadSpec spec);

    /** Keys of the complete archives in the cache. */
    Observation<ImmutableSet<String>> archives();

    /** Every workload of which the machine has a trace, whoever declared it. */
    Observation<ImmutableSet<WorkloadId>> traces();
}
