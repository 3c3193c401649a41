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
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.desired.state.history.WorkloadHistory.LastKnownGood;
import io.homeostat.observe.limits.CgroupLayout;
import java.time.Instant;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Keeps small what would grow for ever: events, archives that nobody needs any more, what interrupted steps left behind. */
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

    /** Deletes events until this many are left, and says when the control plane had yet to be told of some. */
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
     * Removes what steps that were interrupted left behind. What can't be removed costs room and nothing else: it is logged. Of what is
     * declared no more, the planner removes all there is.
     *
     * <p>No step may be under way: what one needs and what one has left look the same.
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
        groups.sweep(all, now);
    }

    /**
     * Removes what the cache has beyond its bounds of archives that are neither declared nor the last good revision of anything. Nobody
     * may declare anything meanwhile.
     *
     * @throws ActuationFailure when one can't be removed, which costs room and nothing else
     */
    public void cleanCache(AgentConfig.Bounds bounds, Instant now) throws ActuationFailure {
        ImmutableSet<String> needed = Stream.concat(
                        store.declarations().stream().map(StoredDeclaration::workload),
                        store.histories().values().stream()
                                .map(WorkloadHistory::lastKnownGood)
                                .flatMap(Stream::ofNullable)
                                .map(LastKnownGood::workload))
                .flatMap(workload -> Stream.ofNullable(workload.source())
                        .map(source -> source.archiveKey(workload.id(), workload.revision())))
                .collect(ImmutableSet.toImmutableSet());
        cache.clean(needed, new CacheBounds(bounds.cacheBytes().bytes(), bounds.cacheAge()), now);
    }
}
