package io.homeostat.reconcile.controlplane;

import io.homeostat.desired.platform.TokenBucket;
import java.time.Duration;
import java.time.Instant;

/**
 * How many refused items are told of one by one: as many at once as a message can hold, then a hundred a minute. A control plane that
 * is told so often that it is wrong learns nothing more from it, and events of other plugins would be pushed out of the queue. Items for
 * declared plugins and for other names are counted apart, since there is no end of other names.
 */
final class RefusalLimit {
    /** At once, of each sort. */
    static final int MOST = Requests.MOST_ITEMS;

    /** After which one more may be told of. */
    static final Duration INTERVAL = Duration.ofMillis(600);

    private final TokenBucket declared = new TokenBucket(MOST, INTERVAL.toNanos(), 0);
    private final TokenBucket others = new TokenBucket(MOST, INTERVAL.toNanos(), 0);

    /**
     * A number of refused items.
     *
     * @param declared for plugins that somebody declares
     * @param others for all other names
     */
    record Count(int declared, int others) {
        static final Count NONE = new Count(0, 0);
    }

    /** How many may be told of now. */
    synchronized Count available(Instant now) {
        long nanos = TokenBucket.nanos(now);
        return new Count((int) declared.available(nanos), (int) others.available(nanos));
    }

    /** Takes note of what was told. */
    synchronized void told(Count count) {
        declared.take(count.declared());
        others.take(count.others());
    }
}
