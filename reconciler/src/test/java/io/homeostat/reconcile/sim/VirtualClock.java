package io.homeostat.reconcile.sim;

import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;

/** Time that passes only when told to. */
final class VirtualClock implements InstantSource {
    private Instant now = Instant.parse("2026-01-01T00:00:00Z");

    @Override
    public Instant instant() {
        return now;
    }

    void advance(Duration by) {
        now = now.plus(by);
    }

    void advanceTo(Instant then) {
        if (then.isAfter(now)) {
            now = then;
        }
    }
}
