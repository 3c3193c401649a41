package io.homeostat.reconcile.controlplane;

import com.fasterxml.jackson.databind.JsonNode;
import io.homeostat.desired.model.PluginSpec;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.StateReader.StoredDeclaration;
import io.homeostat.desired.yaml.CanonicalDocument;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * How much a control plane may declare in all. The agent holds it in memory, some of it several times while a message is taken: without
 * a bound, a few messages with configurations as long as a message can be would end it, and again after each start.
 */
final class Quota {
    /** In characters of stored documents: 8 Ki for each of as many plugins as there may be. */
    static final long MOST = 8 << 20;

    /** What a value takes in memory beside its characters, roughly. */
    private static final int PER_VALUE = 32;

    private final Map<WorkloadId, Long> used = new HashMap<>();
    private long sum;

    void count(StoredDeclaration declared) {
        put(declared.workload().id(), size(declared.workload(), declared.length()));
    }

    /**
     * Reserves what a workload needs, in place of what it had.
     *
     * @return false if there is not enough left, and nothing was reserved; a workload that needs no more than before always fits
     */
    boolean reserve(CanonicalDocument document) {
        WorkloadId id = document.workload().id();
        long needed = size(document.workload(), document.text().length());
        long before = used.getOrDefault(id, 0L);
        if (needed > before && sum - before + needed > MOST) {
            return false;
        }
        put(id, needed);
        return true;
    }

    void release(WorkloadId id) {
        put(id, 0);
    }

    private void put(WorkloadId id, long size) {
        Long before = size == 0 ? used.remove(id) : used.put(id, size);
        sum += size - (before == null ? 0 : before);
    }

    private static long size(Workload workload, int length) {
        long values = workload.spec() instanceof PluginSpec plugin && plugin.config() != null
                ? values(plugin.config().struct())
                : 0;
        return length + PER_VALUE * (values + workload.program().arguments().size());
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
