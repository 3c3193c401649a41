package io.homeostat.reconcile.plan;

import io.homeostat.observe.ObservedInstance.Liveness.Running;
import io.homeostat.observe.health.Health;
import java.time.Duration;

/** What shows that a launch has started. */
public enum Readiness {
    /** It has answered when it was told to start; that can't be seen, only be remembered. */
    START_ANSWERED,
    /** As before; where it listens it tells by a handshake. */
    HANDSHAKE_AND_START_ANSWERED,
    PROBE_SUCCEEDED,
    /** It is still there after a second. */
    STAYED_ALIVE;

    private static final Duration LONG_ENOUGH_ALIVE = Duration.ofSeconds(1);
    private static final Duration SHORTEST_POLL = Duration.ofMillis(20);
    private static final Duration LONGEST_POLL = Duration.ofSeconds(1);
    private static final int POLLS_A_LIFETIME = 10;

    /** True when a launch that was not known to have started can be seen to have. */
    public boolean canBeSeen(Running running) {
        return switch (this) {
            case START_ANSWERED, HANDSHAKE_AND_START_ANSWERED -> false;
            case PROBE_SUCCEEDED -> {
                Health health = running.health();
                yield health != null && health.verdict() == Health.Verdict.HEALTHY;
            }
            case STAYED_ALIVE -> running.age().compareTo(LONG_ENOUGH_ALIVE) >= 0;
        };
    }

    /** What has to stay alive, be it only for its probe to count, is given the time to do so, whatever its timeout. */
    boolean isOverdue(Duration timeout, Running running) {
        Health health = running.health();
        boolean hasToStayAlive = this == STAYED_ALIVE
                || (this == PROBE_SUCCEEDED && health != null && health.verdict() == Health.Verdict.UNKNOWN);
        Duration allowed = hasToStayAlive ? max(timeout, LONG_ENOUGH_ALIVE) : timeout;
        return running.age().compareTo(allowed) >= 0;
    }

    /** What has not happened yet, in words for people. */
    String missing(Running running) {
        return switch (this) {
            case START_ANSWERED ->
                running.listening() ? "it has not answered Start" : "it does not listen on its socket";
            case HANDSHAKE_AND_START_ANSWERED ->
                running.listening() ? "it has not answered Start" : "it has not given its handshake";
            case PROBE_SUCCEEDED -> {
                Health health = running.health();
                yield health == null
                        ? "its probe has not succeeded yet"
                        : (health.verdict() == Health.Verdict.UNKNOWN ? "" : "its probe does not succeed: ")
                                + health.problem();
            }
            case STAYED_ALIVE -> "it has not stayed alive for " + LONG_ENOUGH_ALIVE.toSeconds() + " s";
        };
    }

    /** How long to leave a starting launch alone: look often at first, then less and less. */
    Duration poll(Running running) {
        if (this == STAYED_ALIVE) {
            return max(LONG_ENOUGH_ALIVE.minus(running.age()), SHORTEST_POLL);
        }
        Duration pause = max(running.age().dividedBy(POLLS_A_LIFETIME), SHORTEST_POLL);
        return pause.compareTo(LONGEST_POLL) > 0 ? LONGEST_POLL : pause;
    }

    private static Duration max(Duration a, Duration b) {
        return a.compareTo(b) > 0 ? a : b;
    }
}
