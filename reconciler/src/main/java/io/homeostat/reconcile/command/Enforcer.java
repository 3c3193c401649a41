package io.homeostat.reconcile.command;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.StateReader;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.sqlite.StateStores;
import io.homeostat.observe.usage.UsageReport;
import io.homeostat.observe.usage.UsageReport.Usage;
import io.homeostat.reconcile.command.environment.AgentIdentity;
import io.homeostat.reconcile.controlplane.ControlPlaneStatus;
import io.homeostat.reconcile.loop.Turns;
import java.time.Duration;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Function;

/** Changes what is declared, and brings the machine to it: alone under the state directory's lock, or inside the agent that runs there. */
public interface Enforcer {
    /**
     * Something to bring about.
     *
     * @param store changes what is stored; nothing is done to the machine when it throws
     * @param only the workloads that are waited for, and that alone are touched where no agent runs; none: all
     * @param stopping whether a workload that is stopped by request is done, and not held back
     * @param timeout how long to wait
     */
    record Goal(Consumer<StateStore> store, ImmutableList<WorkloadId> only, boolean stopping, Duration timeout) {
        /** A change that everything is brought to. */
        public static Goal ofAll(Duration timeout, Consumer<StateStore> store) {
            return new Goal(store, ImmutableList.of(), false, timeout);
        }

        boolean concerns(WorkloadId id) {
            return only.isEmpty() || only.contains(id);
        }
    }

    /**
     * Changes what is stored and waits until the machine is as declared, or can't become so now.
     *
     * @param workspace says what is done on its console
     * @return the exit status
     */
    int enforce(Workspace workspace, Goal goal) throws InterruptedException;

    /**
     * Changes what is remembered of some workloads and nothing else; does not wait for what whoever enforces makes of it.
     *
     * @param workspace says on its console for whom it has to wait
     */
    void remember(Workspace workspace, ImmutableList<WorkloadId> ids, Consumer<StateStore> change)
            throws InterruptedException;

    /**
     * Does something with what runs while nobody else changes it, but in the turns that the work is given.
     *
     * @param workspace says on its console for whom it has to wait
     * @return the exit status
     */
    int undisturbed(Workspace workspace, Work work) throws InterruptedException;

    /** What is done with what runs. */
    @FunctionalInterface
    interface Work {
        int in(Turns turns) throws InterruptedException;
    }

    /** Of whatever changes what runs from within this process. */
    default Turns turns() {
        return new Turns();
    }

    /**
     * Looks at what is remembered, as it is now; empty when there is nothing yet. Inside an agent the database must not be opened a
     * second time: closing it would give back the locks of the first (fcntl(2)).
     */
    default <T> Optional<T> remembered(Layout layout, Function<StateReader, T> look) {
        return StateStores.openForReading(layout).map(reader -> {
            try (StateReader open = reader) {
                return look.apply(open);
            }
        });
    }

    /** What a workload uses; empty when nobody samples that. */
    default Optional<Usage> usage(WorkloadId id) {
        return Optional.empty();
    }

    /** What workloads have used and no control plane has acknowledged; nothing of it counts as delivered. */
    default UsageReport usageReport() {
        return UsageReport.EMPTY;
    }

    /** What is configured now for all that is enforced here. */
    AgentConfig config();

    /** How that agent and its control plane get on; empty when it has none. */
    default Optional<ControlPlaneStatus> controlPlane() {
        return Optional.empty();
    }

    /** The agent that this is a part of; empty when it is none. */
    default Optional<AgentIdentity> agent() {
        return Optional.empty();
    }
}
