package io.homeostat.reconcile.cli;

import java.time.Duration;
import java.time.Instant;

/**
 * The agent that a command runs in.
 *
 * @param since when it started
 */
record AgentIdentity(String version, long pid, Instant since) {
    /** Never negative, even when the clock was set back. */
    Duration uptime(Instant now) {
        Duration uptime = Duration.between(since, now);
        return uptime.isNegative() ? Duration.ZERO : uptime;
    }
}
