package io.homeostat.reconcile.secrets;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadSpec;
import io.homeostat.desired.state.Instance;
import io.homeostat.observe.Observation;
import io.homeostat.observe.ObservedInstance.Liveness.Running;
import io.homeostat.observe.ProcessInstances.InstanceHealth;
import io.homeostat.observe.health.Health;
import org.jspecify.annotations.Nullable;

/**
 * Masks the secrets that a workload was given where it, or the command of its probe, quotes them: errors become part of messages,
 * conditions and events, and what it reports while it is well goes to the control plane, which need not be who declared it.
 */
public final class MaskedHealth implements InstanceHealth {
    private final InstanceHealth health;

    /** @param health closed with this */
    public MaskedHealth(InstanceHealth health) {
        this.health = health;
    }

    @Override
    public Observation<Running> of(Instance instance, Running running, @Nullable WorkloadSpec spec) {
        Observation<Running> seen = health.of(instance, running, spec);
        return spec == null ? seen : seen.map(known -> masked(known, instance, spec));
    }

    private static Running masked(Running running, Instance instance, WorkloadSpec spec) {
        Health health = running.health();
        if (health == null || (health.problem().isEmpty() && health.results().isEmpty())) {
            return running;
        }
        SecretMask mask = DeclaredSecrets.given(new Workload(instance.workload(), ImmutableSortedMap.of(), spec));
        return running.withHealth(masked(health, mask));
    }

    /** The same with its words masked. */
    public static Health masked(Health health, SecretMask mask) {
        return new Health(
                health.verdict(),
                health.code(),
                health.results().stream().map(mask::mask).collect(ImmutableList.toImmutableList()),
                mask.mask(health.problem()),
                health.checkedAt());
    }

    @Override
    public void close() {
        health.close();
    }
}
