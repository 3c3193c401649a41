package io.homeostat.observe.health;

import io.homeostat.desired.model.Probe;
import io.homeostat.desired.model.WorkloadSpec;
import io.homeostat.desired.state.Instance;
import io.homeostat.observe.Observation;
import io.homeostat.observe.ObservedInstance.Liveness.Running;
import io.homeostat.observe.ProcessInstances.InstanceHealth;
import java.time.InstantSource;
import org.jspecify.annotations.Nullable;

/** Health by the declared probe; without one, a running process is healthy. */
public final class ProbeHealth implements InstanceHealth {
    private final Probes probes;
    private final InstantSource clock;

    public ProbeHealth(InstantSource clock) {
        this.probes = new Probes(clock);
        this.clock = clock;
    }

    @Override
    public Observation<Running> of(Instance instance, Running running, @Nullable WorkloadSpec spec) {
        if (spec == null) {
            return Observation.seen(running);
        }
        Probe probe = spec.probe();
        Health health = probe == null
                ? Health.healthy(clock.instant())
                : probes.ask(probe, spec.lifecycle().health().timeout());
        return Observation.seen(new Running(running.identity(), running.age(), true, health));
    }

    @Override
    public void close() {
        probes.close();
    }
}
