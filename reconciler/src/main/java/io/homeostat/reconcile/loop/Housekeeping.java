package io.homeostat.reconcile.loop;

import com.google.common.collect.ImmutableSet;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.archive.CacheCleaner;
import io.homeostat.actuate.archive.CacheCleaner.CacheBounds;
import io.homeostat.actuate.install.GarbageCollector;
import io.homeostat.actuate.limits.GroupRemover;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.StateReader.StoredDeclaration;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.history.WorkloadHistory.LastKnownGood;
import io.homeostat.observe.limits.CgroupLayout;
import java.time.Instant;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Bounds what would otherwise grow forever: events, cached archives and leftovers of interrupted steps. */
public final class Housekeeping {
    private static final Logger LOG = LoggerFactory.getLogger(Housekeeping.class);

    private final StateStore store;
    private final CacheCleaner cache;
    private final GarbageCollector garbage;
    private final GroupRemover groups;

    public Housekeeping(Layout layout, StateStore store) {
        this.store = store;
        this.cache = new CacheCleaner(layout);
        this.garbage = new GarbageCollector(layout);
        this.groups = new GroupRemover(CgroupLayout.detect(layout));
    }

    /** Deletes the oldest events beyond {@code kept} and beyond their bytes, and warns if the control plane had not acknowledged some of them. */
    public void trimEvents(int kept, Instant now) {
        int dropped = store.trimEvents(kept, now);
        if (dropped > 0) {
            LOG.warn(
                    "{} events were dropped before the control plane had acknowledged them: at most {} events are kept"
                            + " (limits.events), and {} MiB of them",
                    dropped,
                    kept,
                    StateStore.MOST_EVENT_BYTES >> 20);
        }
    }

    /**
     * Removes leftovers of interrupted steps. What can't be removed is logged: it only takes up space. Workloads that are no longer
     * declared are left to the planner.
     *
     * <p>No step may be running: its files look like leftovers.
     *
     * @param all workloads that are declared, remembered or left on the machine
     */
    public void collectLeftovers(ImmutableSet<WorkloadId> declared, ImmutableSet<WorkloadId> all, Instant now) {
        for (WorkloadId id : declared) {
            try {
                garbage.collectLeftovers(id);
            } catch (ActuationFailure e) {
                LOG.warn("{}", e.getMessage());
            }
        }
        try {
            cache.collectLeftovers();
        } catch (ActuationFailure e) {
            LOG.warn("{}", e.getMessage());
        }
        groups.sweep(all, now);
    }

    /**
     * Trims the cache to its bounds. Archives of declared and of last good revisions stay; nothing may be declared meanwhile.
     *
     * @throws ActuationFailure when one can't be removed; it only takes up space
     */
    public void cleanCache(AgentConfig.Bounds bounds, Instant now) throws ActuationFailure {
        ImmutableSet<String> needed = Stream.concat(
                        store.declarations().stream().map(StoredDeclaration::workload),
                        store.histories().values().stream()
                                .flatMap(history -> history.standIns().stream())
                                .map(LastKnownGood::workload))
                .flatMap(workload -> Stream.ofNullable(workload.source())
                        .map(source -> source.archiveKey(workload.id(), workload.revision())))
                .collect(ImmutableSet.toImmutableSet());
        cache.clean(needed, new CacheBounds(bounds.cacheBytes().bytes(), bounds.cacheAge()), now);
    }
}
