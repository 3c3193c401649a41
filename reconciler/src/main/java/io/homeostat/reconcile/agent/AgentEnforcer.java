package io.homeostat.reconcile.agent;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.StateReader;
import io.homeostat.desired.state.StateStore;
import io.homeostat.observe.usage.Usage;
import io.homeostat.observe.usage.UsageReport;
import io.homeostat.reconcile.command.AgentIdentity;
import io.homeostat.reconcile.command.Enforcer;
import io.homeostat.reconcile.command.Proceedings;
import io.homeostat.reconcile.command.Verb;
import io.homeostat.reconcile.command.Workspace;
import io.homeostat.reconcile.controlplane.ControlPlaneStatus;
import io.homeostat.reconcile.loop.Turns;
import io.homeostat.reconcile.plan.Work;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Changes what is declared inside the running agent, whose loop brings the machine to it; waits for that and reports. */
public final class AgentEnforcer implements Enforcer {
    private final Agent agent;
    private final StateStore store;
    private final AgentIdentity identity;
    private final Supplier<Optional<ControlPlaneStatus>> controlPlane;

    /**
     * Makes the enforcer of an agent.
     *
     * @param store the agent's own
     * @param identity what others see of the agent
     * @param controlPlane how they get on; empty when none is configured
     */
    public AgentEnforcer(
            Agent agent,
            StateStore store,
            AgentIdentity identity,
            Supplier<Optional<ControlPlaneStatus>> controlPlane) {
        this.agent = agent;
        this.store = store;
        this.identity = identity;
        this.controlPlane = controlPlane;
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
    public UsageReport usageReport() {
        return agent.usage().report();
    }

    @Override
    public int undisturbed(Workspace workspace, Verb verb, Work work) throws InterruptedException {
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
    public int enforce(Workspace workspace, Verb verb, Duration timeout, Consumer<StateStore> declare)
            throws InterruptedException {
        return follow(workspace, verb, timeout, follower -> agent.declare(declare, follower));
    }

    @Override
    public int enforce(
            Workspace workspace,
            Verb verb,
            Duration timeout,
            ImmutableList<WorkloadId> ids,
            Consumer<StateStore> change)
            throws InterruptedException {
        return follow(workspace, verb, timeout, follower -> agent.remember(ids, change, follower));
    }

    private static int follow(Workspace workspace, Verb verb, Duration timeout, Begin begin)
            throws InterruptedException {
        AtomicReference<Proceedings> begun = new AtomicReference<>();
        try (Following _ = begin.followed(scope -> {
            begun.set(new Proceedings(workspace, verb, scope.all(), scope.declared()));
            return begun.get();
        })) {
            Objects.requireNonNull(begun.get()).await(timeout);
        } catch (InterruptedException e) {
            // Whoever asked has gone away; what he declared stays declared, and is enforced.
            close(begun.get());
            throw e;
        }
        // Only now: the caller may read slowly.
        try (Proceedings proceedings = begun.get()) {
            return proceedings.report(timeout);
        }
    }

    /** Changes something and says who follows. */
    @FunctionalInterface
    private interface Begin {
        Following followed(Follower follower) throws InterruptedException;
    }

    private static void close(@Nullable Proceedings proceedings) {
        if (proceedings != null) {
            proceedings.close();
        }
    }

    @Override
    public void remember(Workspace workspace, Verb verb, ImmutableList<WorkloadId> ids, Consumer<StateStore> change) {
        agent.remember(ids, change);
    }
}
