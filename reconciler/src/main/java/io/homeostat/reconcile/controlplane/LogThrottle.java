package io.homeostat.reconcile.controlplane;

import io.homeostat.desired.platform.TokenBucket;
import java.time.Duration;
import java.time.InstantSource;
import java.util.OptionalLong;

/** Lets one line through after each interval, and counts those that it holds back. */
final class LogThrottle {
    private final InstantSource clock;
    private final TokenBucket lines;
    private long suppressed;

    LogThrottle(InstantSource clock, Duration interval) {
        this.clock = clock;
        this.lines = new TokenBucket(1, interval.toNanos(), TokenBucket.nanos(clock.instant()));
    }

    /** How many lines were held back since the last one, if another may be written now; empty if not. */
    synchronized OptionalLong permit() {
        if (lines.available(TokenBucket.nanos(clock.instant())) < 1) {
            suppressed++;
            return OptionalLong.empty();
        }
        lines.take(1);
        long before = suppressed;
        suppressed = 0;
        return OptionalLong.of(before);
    }
}
