package io.homeostat.reconcile.command;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.StateReader;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.sqlite.StateStores;
import io.homeostat.observe.usage.Usage;
import io.homeostat.observe.usage.UsageReport;
import io.homeostat.reconcile.controlplane.ControlPlaneStatus;
import io.homeostat.reconcile.loop.Turns;
import java.time.Duration;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Function;

/** Changes what is declared, and brings the machine to it: alone under the state directory's lock, or inside the agent that runs there. */
public interface Enforcer {
    /**
     * Changes what is declared and waits until the machine is as declared, or can't become so now.
     *
     * @param workspace says what is done on its console
     * @param timeout how long to wait
     * @param declare changes what is declared; nothing is done to the machine when it throws
     * @return the exit status
     */
    int enforce(Workspace workspace, Verb verb, Duration timeout, Consumer<StateStore> declare)
            throws InterruptedException;

    /**
     * Changes what is remembered of some workloads and waits until those are as they should be, or can't become so now. Nobody else is
     * waited for, nor touched when this is done alone.
     *
     * @param workspace says what is done on its console
     * @param timeout how long to wait
     * @return the exit status
     */
    int enforce(
            Workspace workspace,
            Verb verb,
            Duration timeout,
            ImmutableList<WorkloadId> ids,
            Consumer<StateStore> change)
            throws InterruptedException;

    /**
     * Changes what is remembered of some workloads and nothing else; does not wait for what whoever enforces makes of it.
     *
     * @param workspace says on its console for whom it has to wait
     */
    void remember(Workspace workspace, Verb verb, ImmutableList<WorkloadId> ids, Consumer<StateStore> change)
            throws InterruptedException;

    /**
     * Does something with what runs while nobody else changes it, but in the turns that the work is given.
     *
     * @param workspace says on its console for whom it has to wait
     * @return the exit status
     */
    int undisturbed(Workspace workspace, Verb verb, Work work) throws InterruptedException;

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
