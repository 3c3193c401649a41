package io.homeostat.reconcile.agent;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.model.DesiredState;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.source.StoredState;
import io.homeostat.desired.state.StateReader;
import io.homeostat.desired.state.StateStore;
import io.homeostat.observe.usage.UsageReport;
import io.homeostat.observe.usage.UsageReport.Usage;
import io.homeostat.reconcile.agent.PassBroadcast.Following;
import io.homeostat.reconcile.agent.StateUpdates.Follower;
import io.homeostat.reconcile.command.ApplyProgress;
import io.homeostat.reconcile.command.Enforcer;
import io.homeostat.reconcile.command.Workspace;
import io.homeostat.reconcile.command.environment.AgentIdentity;
import io.homeostat.reconcile.controlplane.ControlPlane.ControlPlaneStatus;
import io.homeostat.reconcile.loop.Turns;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.plan.Work;
import io.homeostat.reconcile.secrets.LaunchedValues;
import io.homeostat.reconcile.status.Differences;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;

/** Changes what is declared inside the running agent, whose loop brings the machine to it; waits for that and reports. */
public final class AgentEnforcer implements Enforcer {
    private final Agent agent;
    private final StateStore store;
    private final AgentIdentity identity;
    private final Supplier<Optional<ControlPlaneStatus>> controlPlane;
    private final Supplier<ImmutableList<String>> problems;

    /** @param problems see {@link Enforcer#agentProblems} */
    public AgentEnforcer(
            Agent agent,
            StateStore store,
            AgentIdentity identity,
            Supplier<Optional<ControlPlaneStatus>> controlPlane,
            Supplier<ImmutableList<String>> problems) {
        this.agent = agent;
        this.store = store;
        this.identity = identity;
        this.controlPlane = controlPlane;
        this.problems = problems;
    }

    @Override
    public <T> Optional<T> remembered(Layout layout, Function<StateReader, T> look) {
        return Optional.of(look.apply(store));
    }

    @Override
    public Optional<Usage> usage(WorkloadId id) {
        return agent.usage().latest(id);
    }

    @Override
    public LaunchedValues launched() {
        return agent.launched();
    }

    @Override
    public Optional<Step> underWay(WorkloadId id) {
        return agent.underWay(id);
    }

    @Override
    public UsageReport usageReport() {
        return agent.usage().report();
    }

    @Override
    public int undisturbed(Workspace workspace, Work work) throws InterruptedException {
        return work.in(agent.turns());
    }

    @Override
    public Turns turns() {
        return agent.turns();
    }

    @Override
    public AgentConfig config() {
        return agent.config();
    }

    @Override
    public Optional<AgentIdentity> agent() {
        return Optional.of(identity);
    }

    @Override
    public Optional<ControlPlaneStatus> controlPlane() {
        return controlPlane.get();
    }

    @Override
    public ImmutableList<String> agentProblems() {
        return problems.get();
    }

    @Override
    public int enforce(Workspace workspace, Goal goal) throws InterruptedException {
        AtomicReference<ApplyProgress> begun = new AtomicReference<>();
        AtomicReference<DesiredState> before = new AtomicReference<>(DesiredState.EMPTY);
        Consumer<StateStore> change = changed -> {
            before.set(StoredState.desired(changed.declarations()));
            goal.store().accept(changed);
        };
        Follower follower = scope -> {
            DesiredState after = StoredState.desired(store.declarations());
            begun.set(new ApplyProgress(
                    workspace,
                    goal.asked(),
                    goal.overtaken(after),
                    goal.rest(),
                    scope.all(),
                    scope.declared(),
                    id -> Differences.between(before.get(), after, id)));
            return begun.get();
        };
        try (Following _ = goal.only().isEmpty()
                ? agent.updates().declare(change, follower)
                : agent.updates().remember(goal.only(), change, follower)) {
            Objects.requireNonNull(begun.get()).await(goal.timeout(), goal.asked());
        } catch (InterruptedException e) {
            // Whoever asked has gone away; what he declared stays declared, and is enforced.
            ApplyProgress progress = begun.get();
            if (progress != null) {
                progress.close();
            }
            throw e;
        }
        // Only now: the caller may read slowly.
        try (ApplyProgress progress = begun.get()) {
            return progress.report(goal.timeout());
        }
    }

    @Override
    public void declare(Function<StateStore, ImmutableSet<WorkloadId>> change) {
        agent.updates().declare(change);
    }

    @Override
    public void remember(Workspace workspace, ImmutableList<WorkloadId> ids, Consumer<StateStore> change) {
        agent.updates().remember(ids, change);
    }
}
