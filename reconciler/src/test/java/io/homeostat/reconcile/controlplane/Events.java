package io.homeostat.reconcile.controlplane;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Event;
import io.homeostat.desired.state.EventType;
import io.homeostat.desired.state.StateStore.Change;
import java.time.Instant;
import java.util.stream.IntStream;

/** Many events of a plugin in one transaction, numbered in their details. */
final class Events {
    private Events() {}

    static Change of(String plugin, int from, int to) {
        WorkloadId id = WorkloadId.plugin(plugin);
        return new Change(
                id,
                null,
                false,
                ImmutableList.of(),
                ImmutableList.of(),
                IntStream.range(from, to)
                        .mapToObj(
                                i -> new Event(Instant.EPOCH, id, "A1", EventType.PLUGIN_STARTED, Integer.toString(i)))
                        .collect(ImmutableList.toImmutableList()));
    }
}
