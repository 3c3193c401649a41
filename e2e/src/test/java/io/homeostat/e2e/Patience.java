package io.homeostat.e2e;

import java.time.Duration;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;

/** How long to wait for what has to happen; generous, because nothing is wrong when a machine is slow. */
final class Patience {
    static final Duration LONGEST = Duration.ofSeconds(90);

    private Patience() {}

    /** For what an agent does by itself. */
    static ConditionFactory eventually() {
        return Awaitility.await().atMost(LONGEST).pollInterval(Duration.ofMillis(100));
    }
}
