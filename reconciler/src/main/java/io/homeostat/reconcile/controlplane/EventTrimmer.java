package io.homeostat.reconcile.controlplane;

import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.StoreException;
import java.time.Instant;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps to {@code limits.events} while messages come. Periodic trimming is enough for what happens on the machine, but a control plane
 * that asks over and over for what is there already could fill a disk in between. Its acknowledgement waits for the trimming.
 */
final class EventTrimmer {
    private static final Logger LOG = LoggerFactory.getLogger(EventTrimmer.class);

    private final StateStore store;
    private int limit = Integer.MAX_VALUE;
    private int stored;

    EventTrimmer(StateStore store) {
        this.store = store;
    }

    synchronized void limit(int events) {
        limit = events;
    }

    /** Trims, if as many events as are kept were stored because of messages. */
    synchronized void stored(int events, Instant now) {
        stored += events;
        if (stored < limit) {
            return;
        }
        try {
            int dropped = store.trimEvents(limit, now);
            stored = 0;
            if (dropped > 0) {
                LOG.warn("{} events were dropped: the control plane causes more than it acknowledges", dropped);
            }
        } catch (StoreException e) {
            LOG.warn("{}; events are trimmed later", e.getMessage());
        }
    }
}
