package io.homeostat.reconcile.agent;

import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.StateReader;
import io.homeostat.observe.usage.UsageSampler;
import io.homeostat.reconcile.loop.DesiredSource;
import io.homeostat.reconcile.loop.PassListener;
import io.homeostat.reconcile.loop.PassResult;
import io.homeostat.reconcile.plan.Step;

/** After each pass says what is to be sampled of the workload: the launches that it has now, as its declaration says. What nobody wants is not. */
final class UsageFollowing implements PassListener {
    private final UsageSampler sampler;
    private final StateReader store;
    private final DesiredSource declared;

    UsageFollowing(UsageSampler sampler, StateReader store, DesiredSource declared) {
        this.sampler = sampler;
        this.store = store;
        this.declared = declared;
    }

    @Override
    public void starting(Step step) {}

    @Override
    public void finished(WorkloadId id, PassResult next) {
        declared.declaration(id)
                .ifPresentOrElse(
                        wanted ->
                                sampler.follow(id, wanted.workload().lifecycle().metrics(), store.instances(id)),
                        () -> sampler.forget(id));
    }

    @Override
    public void broken(WorkloadId id, Throwable problem) {}
}
