package io.homeostat.desired.state;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.history.WorkloadHistory;
import org.jspecify.annotations.Nullable;

/**
 * What one look or one step added to what is remembered of a workload; stored as a whole or not at all.
 *
 * @param history the new history; null when it stays as it is
 * @param dropHistory true: nothing is left of the workload, forget its history (not its events)
 * @param instances launches that are new or have changed
 * @param ended ids of launches that are over
 * @param events what happened, oldest first
 */
public record Change(
        WorkloadId workload,
        @Nullable WorkloadHistory history,
        boolean dropHistory,
        ImmutableList<Instance> instances,
        ImmutableList<String> ended,
        ImmutableList<Event> events) {

    public static Change ofInstance(Instance instance) {
        return new Change(
                instance.workload(), null, false, ImmutableList.of(instance), ImmutableList.of(), ImmutableList.of());
    }
}
