package io.homeostat.reconcile.agent;

import com.google.common.collect.ImmutableSet;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.CacheCleaner;
import io.homeostat.desired.layout.Layout;
import io.homeostat.desired.store.ProvenRevision;
import io.homeostat.desired.store.StateStore;
import io.homeostat.desired.store.StoredDeclaration;
import io.homeostat.desired.store.WorkloadHistory;
import io.homeostat.observe.ArchiveKey;
import java.util.stream.Stream;

/** Keeps small what would grow for ever: events and archives that nobody needs any more. */
public final class Housekeeping {
    private final StateStore store;
    private final CacheCleaner cache;

    public Housekeeping(Layout layout, StateStore store) {
        this.store = store;
        this.cache = new CacheCleaner(layout);
    }

    /** Deletes the oldest events but this many. */
    public void trimEvents(int kept) {
        store.trimEvents(kept);
    }

    /**
     * Removes archives of what is neither declared nor the last good revision of anything. Nobody may declare anything meanwhile.
     *
     * @throws ActuationFailure when one can't be removed, which costs room and nothing else
     */
    public void cleanCache() throws ActuationFailure {
        ImmutableSet<String> needed = Stream.concat(
                        store.declarations().stream().map(StoredDeclaration::workload),
                        store.histories().values().stream()
                                .map(WorkloadHistory::proven)
                                .flatMap(Stream::ofNullable)
                                .map(ProvenRevision::workload))
                .flatMap(workload -> Stream.ofNullable(workload.program().source())
                        .map(source -> ArchiveKey.of(workload.id(), workload.revision(), source)))
                .collect(ImmutableSet.toImmutableSet());
        cache.keepOnly(needed);
    }
}
