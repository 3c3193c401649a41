package io.homeostat.observe;

import io.homeostat.desired.model.WorkloadSpec;
import io.homeostat.desired.state.Instance;
import org.jspecify.annotations.Nullable;

/** Which declaration's health check applies to a launch: after a rollback it is not the newest one. */
@FunctionalInterface
public interface Checks {
    /** Checks nothing. */
    Checks NONE = instance -> null;

    /** Null when its health is not to be checked. */
    @Nullable
    WorkloadSpec of(Instance instance);
}
