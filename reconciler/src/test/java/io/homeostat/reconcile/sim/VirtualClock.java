package io.homeostat.reconcile.sim;

import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;

/**
 * Time that passes only when told to. There are two of them, as on a real machine: the wall clock, which the agent sees and which
 * can be set, and the steady count by which processes age and delays run.
 */
final class VirtualClock implements InstantSource {
    private static final Instant BEGINNING = Instant.parse("2026-01-01T00:00:00Z");

    private long steady;
    private long offset;

    @Override
    public Instant instant() {
        return BEGINNING.plusMillis(steady + offset);
    }

    /** Milliseconds since the history began; never goes back. */
    long steadyMillis() {
        return steady;
    }

    void advance(Duration by) {
        advanceMillis(by.toMillis());
    }

    void advanceMillis(long by) {
        steady += by;
    }

    void advanceTo(long steadyMillis) {
        steady = Math.max(steady, steadyMillis);
    }

    /** Sets the wall clock forwards or backwards; no time passes. */
    void set(Duration by) {
        offset += by.toMillis();
    }
}
