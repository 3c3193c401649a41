package io.homeostat.reconcile.controlplane;

import com.fasterxml.jackson.databind.JsonNode;
import io.homeostat.desired.model.PluginSpec;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.yaml.DocumentCodec;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * How much a control plane may declare, in all: the agent holds it in memory, some of it several times while a message is taken. Without
 * a bound a few messages with configurations as long as a message can be would end it, and again after each start.
 */
final class Room {
    /** Documents as they are stored, in characters: for as many plugins as there may be, 8 Ki each. */
    static final long MOST = 8 << 20;

    /** What a value takes in memory beside its characters, about. */
    private static final int PER_VALUE = 32;

    private final Map<WorkloadId, Long> taken = new HashMap<>();
    private long sum;

    Room(Iterable<Workload> declared) {
        declared.forEach(workload -> put(workload.id(), length(workload)));
    }

    /**
     * Takes what a workload needs, in place of what it had.
     *
     * @return false when there is no room, and nothing was taken; what gets no longer always finds it
     */
    boolean take(Workload workload) {
        long needed = length(workload);
        long before = taken.getOrDefault(workload.id(), 0L);
        if (needed > before && sum - before + needed > MOST) {
            return false;
        }
        put(workload.id(), needed);
        return true;
    }

    /** Gives back what a workload had. */
    void free(WorkloadId id) {
        put(id, 0);
    }

    private void put(WorkloadId id, long length) {
        Long before = length == 0 ? taken.remove(id) : taken.put(id, length);
        sum += length - (before == null ? 0 : before);
    }

    private static long length(Workload workload) {
        long values = workload.spec() instanceof PluginSpec plugin && plugin.config() != null
                ? values(plugin.config().struct())
                : 0;
        return DocumentCodec.toJson(workload).length()
                + PER_VALUE * (values + workload.program().arguments().size());
    }

    private static long values(@Nullable JsonNode node) {
        long all = 1;
        if (node != null) {
            for (JsonNode each : node) {
                all += values(each);
            }
        }
        return all;
    }
}
