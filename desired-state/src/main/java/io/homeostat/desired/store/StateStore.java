package io.homeostat.desired.store;

import com.google.common.collect.ImmutableCollection;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;

/**
 * What must be remembered. When a method returns, what it stored survives a power cut; when it throws
 * {@link StoreException}, nothing of it was stored.
 */
public interface StateStore extends StateReader {
    /** Stores one look's or step's outcome. */
    void commit(Change change);

    /**
     * Declares workloads as given to {@code apply}. A declaration that is equal to the stored one keeps its generation.
     *
     * @param origins the PATHs that were applied; with {@code prune}, what an earlier apply of these declared and
     *     {@code documents} doesn't is withdrawn
     * @return the workloads that were withdrawn
     */
    ImmutableSet<WorkloadId> apply(ImmutableCollection<ToApply> documents, ImmutableSet<String> origins, boolean prune);

    /** Withdraws applied workloads; ids that were not applied are ignored. */
    void delete(ImmutableCollection<WorkloadId> ids);

    /** Deletes all but the newest {@code keep} events. */
    void trimEvents(int keep);

    /** Has these workloads tried at once, see {@link WorkloadHistory#retriedNow}. */
    default void retryNow(ImmutableList<WorkloadId> ids) {
        for (WorkloadId id : ids) {
            WorkloadHistory history = history(id);
            WorkloadHistory next = history.retriedNow();
            if (!next.equals(history)) {
                commit(new Change(id, next, false, ImmutableList.of(), ImmutableList.of(), ImmutableList.of()));
            }
        }
    }

    /** A workload with the PATH it came from. */
    record ToApply(Workload workload, String origin) {}
}
