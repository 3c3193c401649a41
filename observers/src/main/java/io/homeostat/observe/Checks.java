package io.homeostat.observe;

import io.homeostat.desired.model.WorkloadSpec;
import io.homeostat.desired.state.Instance;
import org.jspecify.annotations.Nullable;

/** Which declaration says how a process's health is checked: after an undone upgrade that is not the newest one. */
@FunctionalInterface
public interface Checks {
    /** Nobody's health is asked for. */
    Checks NONE = instance -> null;

    /** Null: its health is nobody's concern. */
    @Nullable
    WorkloadSpec of(Instance instance);
}
