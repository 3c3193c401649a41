package io.homeostat.observe.watch;

import java.time.Duration;

/**
 * Makes one report of changes that come in a bunch: due when it has been quiet for a while, or when the first has waited long
 * enough. Times are those of a {@link com.github.benmanes.caffeine.cache.Ticker}. For one thread.
 */
final class Debounce {
    private final long quiet;
    private final long longest;
    private boolean pending;
    private long first;
    private long last;

    /**
     * @param quiet how long nothing must have changed
     * @param longest how long a change waits at most
     */
    Debounce(Duration quiet, Duration longest) {
        this.quiet = quiet.toNanos();
        this.longest = longest.toNanos();
    }

    void changed(long now) {
        if (!pending) {
            first = now;
        }
        pending = true;
        last = now;
    }

    /** Nanoseconds until a report is due, not positive when it is; a very long time when nothing has changed. */
    long untilDue(long now) {
        return pending ? Math.min(last + quiet - now, first + longest - now) : Long.MAX_VALUE;
    }

    void reported() {
        pending = false;
    }
}
