package io.homeostat.reconcile.plan;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Pause;
import io.homeostat.desired.state.StateReader;
import io.homeostat.desired.state.history.WorkloadHistory;
import org.jspecify.annotations.Nullable;

/**
 * What is remembered of one workload.
 *
 * @param pause somebody's wish that it be left alone; null when there is none
 */
public record Remembered(
        WorkloadHistory history,
        ImmutableList<Instance> instances,
        @Nullable Pause pause) {
    public static Remembered by(StateReader store, WorkloadId id) {
        return new Remembered(
                store.history(id), store.instances(id), store.pause(id).orElse(null));
    }

    /** Without how it was when it was last looked at. */
    public Remembered withoutConditions() {
        return new Remembered(history.withConditions(ImmutableList.of()), instances, pause);
    }
}
