package io.homeostat.reconcile.command.environment;

import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;

/** The agent that a command runs in. */
public record AgentIdentity(String version, long pid, Instant since) {
    public static AgentIdentity ofThisProcess(InstantSource clock) {
        return new AgentIdentity(Version.current(), ProcessHandle.current().pid(), clock.instant());
    }

    /** Never negative, even when the clock was set back. */
    public Duration uptime(Instant now) {
        Duration uptime = Duration.between(since, now);
        return uptime.isNegative() ? Duration.ZERO : uptime;
    }
}
