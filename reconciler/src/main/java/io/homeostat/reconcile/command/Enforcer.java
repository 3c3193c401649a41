package io.homeostat.reconcile.command;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.model.DesiredState;
import io.homeostat.desired.model.DesiredState.Policy;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.StateReader;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.desired.state.sqlite.StateStores;
import io.homeostat.observe.usage.UsageReport;
import io.homeostat.observe.usage.UsageReport.Usage;
import io.homeostat.reconcile.command.environment.AgentIdentity;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.output.Overtaken;
import io.homeostat.reconcile.controlplane.ControlPlane.ControlPlaneStatus;
import io.homeostat.reconcile.loop.Turns;
import io.homeostat.reconcile.plan.DependencyGraph;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.secrets.LaunchedValues;
import java.time.Duration;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Function;

/** Changes what is declared, and brings the machine to it: alone under the state directory's lock, or inside the agent that runs there. */
public interface Enforcer {
    /**
     * What to bring about.
     *
     * @param store changes what is stored; if it throws, nothing is done to the machine
     * @param only the workloads to wait for, and without an agent the only ones touched, with what runs in them; empty: all
     * @param rest why a workload may be at rest and is done, though it is not as declared: it is wanted so; empty: for nothing
     * @param overtaken whether somebody else wants something else of what was asked for than is declared once {@code store} has returned
     * @param asked the workloads that decide the exit status, known once {@code store} has returned; empty: all
     */
    record Goal(
            Consumer<StateStore> store,
            ImmutableList<WorkloadId> only,
            ImmutableSet<Reason> rest,
            Function<DesiredState, Overtaken> overtaken,
            Duration timeout,
            Set<WorkloadId> asked) {
        public Goal(
                Consumer<StateStore> store,
                ImmutableList<WorkloadId> only,
                ImmutableSet<Reason> rest,
                Function<DesiredState, Overtaken> overtaken,
                Duration timeout) {
            this(store, only, rest, overtaken, timeout, Set.of());
        }

        /**
         * Whether somebody else wants something else of any workload; of those nobody asked for it is only what is declared that counts.
         *
         * @param declared once {@link #store} has returned
         */
        public Overtaken overtaken(DesiredState declared) {
            Overtaken askedFor = overtaken.apply(declared);
            Overtaken others = Overtaken.declared(declared);
            return (situation, plan) ->
                    (asked.isEmpty() || asked.contains(situation.id()) ? askedFor : others).by(situation, plan);
        }

        /**
         * Those that are touched without an agent, who would look after what something depends on that is to run.
         *
         * @param all that there are
         */
        ImmutableSet<WorkloadId> touched(Set<WorkloadId> all, DesiredState declared) {
            if (only.isEmpty() || rest.contains(Reason.STOPPED)) {
                return ImmutableSet.copyOf(only.isEmpty() ? all : only);
            }
            return DependencyGraph.withNeeds(only, declared);
        }
    }

    /** Changes what is stored and waits until the machine is as declared, or can't become so now; returns the exit status. */
    int enforce(Workspace workspace, Goal goal) throws InterruptedException;

    /** Changes what is remembered of some workloads, without waiting for its effect. */
    void remember(Workspace workspace, ImmutableList<WorkloadId> ids, Consumer<StateStore> change)
            throws InterruptedException;

    /**
     * Changes what is declared, without waiting for its effect.
     *
     * @param change says of which workloads it changed something
     * @throws CommandFailure when no agent enforces it afterwards
     */
    default void declare(Function<StateStore, ImmutableSet<WorkloadId>> change) {
        throw new CommandFailure("no agent runs that would bring the machine to it; homeostat run starts one");
    }

    /** Works with running workloads while nobody else changes them, in turns with the steps of passes; returns the exit status. */
    int undisturbed(Workspace workspace, Work work) throws InterruptedException;

    /** What is done with what runs. */
    @FunctionalInterface
    interface Work {
        int in(Turns turns) throws InterruptedException;
    }

    /** Why the agent that enforces does not, and what it can't do as its configuration says, for people; empty without one. */
    default ImmutableList<String> agentProblems() {
        return ImmutableList.of();
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

    /** The step that is being done to it, which a look at the machine does not show. */
    default Optional<Step> underWay(WorkloadId id) {
        return Optional.empty();
    }

    /** What workloads have used and no control plane has acknowledged; nothing of it counts as delivered. */
    default UsageReport usageReport() {
        return UsageReport.EMPTY;
    }

    /** What this process has launched programs with. */
    default LaunchedValues launched() {
        return new LaunchedValues();
    }

    /**
     * What is configured now for all that is enforced here.
     *
     * @throws CommandFailure when that is not known, see {@link #unconfigured}
     */
    AgentConfig config();

    /** Why nobody knows what is configured here, so that nothing can be launched; empty when it is known. */
    default Optional<CommandFailure> unconfigured() {
        return Optional.empty();
    }

    /** What holds for every workload here: where nobody knows, what nobody has configured. */
    default Policy policy() {
        Policy policy = unconfigured().isPresent() ? Policy.NONE : Policy.of(config());
        return agent().isPresent() ? policy : policy.once();
    }

    /** How that agent and its control plane get on; empty when it has none. */
    default Optional<ControlPlaneStatus> controlPlane() {
        return Optional.empty();
    }

    /** The agent that this is a part of; empty when it is none. */
    default Optional<AgentIdentity> agent() {
        return Optional.empty();
    }
}
