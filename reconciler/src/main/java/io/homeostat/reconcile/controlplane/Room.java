package io.homeostat.reconcile.controlplane;

import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.yaml.DocumentCodec;
import java.util.HashMap;
import java.util.Map;

/**
 * How much a control plane may declare, in all: the agent holds it in memory, some of it several times while a message is taken. Without
 * a bound a few messages with configurations as long as a message can be would end it, and again after each start.
 */
final class Room {
    /** Documents as they are stored, in characters: for as many plugins as there may be, 8 Ki each. */
    static final long MOST = 8 << 20;

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
        return DocumentCodec.toJson(workload).length();
    }
}
