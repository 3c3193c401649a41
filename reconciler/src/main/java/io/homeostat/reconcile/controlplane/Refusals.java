package io.homeostat.reconcile.controlplane;

import java.time.Duration;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * How many refused items may be told of one by one. As many as a message can have at once, then a hundred a minute: whoever is told so
 * often that he is wrong learns nothing more from it, and what he is told of other plugins would be pushed out of the queue. Items for
 * declared plugins and for any other names are counted apart, since there is no end of other names.
 */
final class Refusals {
    /** So many of each sort at once. */
    static final int MOST = Requests.MOST_ITEMS;

    /** One more after each such time. */
    static final Duration FOR_ONE_MORE = Duration.ofMillis(600);

    private Left left = Left.ALL;
    private @Nullable Instant filled;

    /**
     * How many may be told.
     *
     * @param ofDeclared for plugins that somebody declares
     * @param ofOthers for all other names
     */
    record Left(int ofDeclared, int ofOthers) {
        static final Left ALL = new Left(MOST, MOST);

        private Left plus(long more) {
            return new Left((int) Math.min(MOST, ofDeclared + more), (int) Math.min(MOST, ofOthers + more));
        }
    }

    synchronized Left left(Instant now) {
        if (filled == null || now.isBefore(filled)) {
            // The first time; or the clock was set back.
            filled = now;
        }
        long more = Duration.between(filled, now).dividedBy(FOR_ONE_MORE);
        filled = filled.plus(FOR_ONE_MORE.multipliedBy(more));
        left = left.plus(more);
        return left;
    }

    /** What is left after some were told. */
    synchronized void leave(Left rest) {
        left = rest;
    }
}
