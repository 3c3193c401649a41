package io.homeostat.reconcile.controlplane;

import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.StoreException;
import java.time.Instant;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps to {@code limits.events} while messages come. The periodic trimming is enough for what happens here; but a control plane that
 * asks again and again for what is there already can fill a disk between two of them. It waits for its acknowledgement meanwhile.
 */
final class EventBound {
    private static final Logger LOG = LoggerFactory.getLogger(EventBound.class);

    private final StateStore store;
    private int kept = Integer.MAX_VALUE;
    private int stored;

    EventBound(StateStore store) {
        this.store = store;
    }

    /** @param events how many are kept from now on */
    synchronized void keep(int events) {
        kept = events;
    }

    /** So many events were stored because of a message, which is stored as well. */
    synchronized void stored(int events, Instant now) {
        stored += events;
        if (stored < kept) {
            return;
        }
        try {
            int dropped = store.trimEvents(kept, now);
            stored = 0;
            if (dropped > 0) {
                LOG.warn("{} events were dropped: the control plane causes more than it acknowledges", dropped);
            }
        } catch (StoreException e) {
            LOG.warn("{}; events are trimmed later", e.getMessage());
        }
    }
}
