package io.homeostat.reconcile.controlplane;

import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/** Lets something be said once in a while, and counts how often it was not. */
final class Seldom {
    private final InstantSource clock;
    private final Duration pause;
    private @Nullable Instant last;
    private long held;

    Seldom(InstantSource clock, Duration pause) {
        this.clock = clock;
        this.pause = pause;
    }

    /** How often it was held back since it was last said; empty when it is held back now. */
    synchronized OptionalLong say() {
        Instant now = clock.instant();
        boolean early = last != null && !now.isBefore(last) && now.isBefore(last.plus(pause));
        if (early) {
            held++;
            return OptionalLong.empty();
        }
        long before = held;
        last = now;
        held = 0;
        return OptionalLong.of(before);
    }
}
