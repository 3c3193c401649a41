package io.homeostat.reconcile.plan;

import io.homeostat.desired.model.PluginSpec;
import io.homeostat.desired.model.ProcessSpec;
import io.homeostat.desired.model.WorkloadSpec;
import io.homeostat.observe.Health;
import io.homeostat.observe.ObservedInstance.Liveness.Running;
import java.time.Duration;

/** When a launch counts as started, for each kind. */
final class Readiness {
    /** A process without a probe has started when it has stayed alive this long. */
    static final Duration STAYED_ALIVE = Duration.ofSeconds(1);

    private static final Duration SHORTEST_POLL = Duration.ofMillis(20);
    private static final Duration LONGEST_POLL = Duration.ofSeconds(1);
    private static final int POLLS_A_LIFETIME = 10;

    private Readiness() {}

    /** True when a launch that was not known to have started can be seen to have. A plugin says so itself, by answering Start. */
    static boolean canBeSeen(WorkloadSpec spec, Running running) {
        return switch (spec) {
            case PluginSpec plugin -> false;
            case ProcessSpec process -> {
                if (process.probe() == null) {
                    yield running.age().compareTo(STAYED_ALIVE) >= 0;
                }
                Health health = running.health();
                yield health != null && health.verdict() == Health.Verdict.HEALTHY;
            }
        };
    }

    /** A process without a probe that is still there is never overdue: it has to be given the time to stay alive. */
    static boolean isOverdue(WorkloadSpec spec, Running running) {
        Duration timeout = spec.lifecycle().start().timeout();
        boolean staysAlive = spec instanceof ProcessSpec process && process.probe() == null;
        return running.age().compareTo(staysAlive ? max(timeout, STAYED_ALIVE) : timeout) >= 0;
    }

    /** What has not happened yet, in words for people. */
    static String missing(WorkloadSpec spec, Running running) {
        return switch (spec) {
            case PluginSpec plugin ->
                running.listening() ? "it has not answered Start" : "it does not listen on its socket";
            case ProcessSpec process -> {
                if (process.probe() == null) {
                    yield "it has not stayed alive for " + STAYED_ALIVE.toSeconds() + " s";
                }
                Health health = running.health();
                yield health == null
                        ? "its probe has not succeeded yet"
                        : "its probe does not succeed: " + health.problem();
            }
        };
    }

    /** How long to leave a starting launch alone: look often at first, then less and less. */
    static Duration poll(WorkloadSpec spec, Running running) {
        if (spec instanceof ProcessSpec process && process.probe() == null) {
            return max(STAYED_ALIVE.minus(running.age()), SHORTEST_POLL);
        }
        Duration pause = max(running.age().dividedBy(POLLS_A_LIFETIME), SHORTEST_POLL);
        return pause.compareTo(LONGEST_POLL) > 0 ? LONGEST_POLL : pause;
    }

    private static Duration max(Duration a, Duration b) {
        return a.compareTo(b) > 0 ? a : b;
    }
}
