package io.homeostat.e2e;

import static org.awaitility.pollinterval.IterativePollInterval.iterative;

import java.time.Duration;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;

/** How long to wait for what has to happen; generous, because nothing is wrong when a machine is slow. */
final class Patience {
    static final Duration LONGEST = Duration.ofSeconds(90);

    /** For a command that may be a build. */
    static final Duration BUILD = Duration.ofMinutes(10);

    private static final Duration SHORTEST_POLL = Duration.ofMillis(100);
    private static final Duration LONGEST_POLL = Duration.ofMillis(800);

    private Patience() {}

    /** For what an agent does by itself. More and more seldom: each question costs the agent and the test processor time. */
    static ConditionFactory eventually() {
        return Awaitility.await().atMost(LONGEST).pollInterval(iterative(Patience::longer, SHORTEST_POLL));
    }

    private static Duration longer(Duration last) {
        Duration next = last.multipliedBy(2);
        return next.compareTo(LONGEST_POLL) < 0 ? next : LONGEST_POLL;
    }
}
