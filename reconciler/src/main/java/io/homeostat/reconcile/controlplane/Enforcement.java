package io.homeostat.reconcile.controlplane;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.StateStore;
import io.homeostat.reconcile.status.Survey.Finding;
import java.util.function.Function;

/** What a control plane can have done here: the agent, as it is seen from this package. */
public interface Enforcement {
    /**
     * Changes what is declared and has it enforced; does not wait for that.
     *
     * @param change made to the store at once, while no pass can write anything; says which workloads are to be looked at besides those
     *     that are declared otherwise. Nothing else happens when it throws
     */
    void declare(Function<StateStore, ImmutableSet<WorkloadId>> change);

    /** Looks at all plugins; waits a bounded time until each has been looked at by the loop once since it began. */
    ImmutableList<Finding> plugins() throws InterruptedException;
}
