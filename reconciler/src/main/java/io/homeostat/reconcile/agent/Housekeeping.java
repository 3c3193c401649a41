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
import java.time.Instant;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Keeps small what would grow for ever: events and archives that nobody needs any more. */
public final class Housekeeping {
    private static final Logger LOG = LoggerFactory.getLogger(Housekeeping.class);

    private final StateStore store;
    private final CacheCleaner cache;

    public Housekeeping(Layout layout, StateStore store) {
        this.store = store;
        this.cache = new CacheCleaner(layout);
    }

    /** Deletes the oldest events but this many, and says when the control plane had yet to be told of some. */
    public void trimEvents(int kept, Instant now) {
        int dropped = store.trimEvents(kept, now);
        if (dropped > 0) {
            LOG.warn(
                    "{} events were dropped before the control plane had acknowledged them: at most {} events are kept"
                            + " (limits.events)",
                    dropped,
                    kept);
        }
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
