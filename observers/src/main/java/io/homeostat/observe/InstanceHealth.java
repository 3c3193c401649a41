package io.homeostat.observe;

import io.homeostat.desired.model.WorkloadSpec;
import io.homeostat.desired.state.Instance;
import io.homeostat.observe.ObservedInstance.Liveness.Running;
import org.jspecify.annotations.Nullable;

/** Finds out how a running instance is. */
public interface InstanceHealth extends AutoCloseable {
    /**
     * How it is.
     *
     * @param spec says how to check it; null when it is not to be asked
     */
    Observation<Running> of(Instance instance, Running running, @Nullable WorkloadSpec spec);

    @Override
    default void close() {}
}
