package io.homeostat.reconcile.agent.fleet;

import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * When a machine reports next. Between two reports there is at least one interval, and after a change it waits for a random part of one:
 * when something is published, thousands of machines change in the same moment.
 */
final class ReportPace {
    private final Duration interval;
    private final RandomGenerator random;
    private @Nullable Instant sent;
    private @Nullable Instant due;

    ReportPace(Duration interval, RandomGenerator random) {
        this.interval = interval;
        this.random = random;
    }

    /** Something is otherwise than it was reported. */
    void changed(Instant now) {
        // Whatever changes again until then is part of the same report. What is due later than it could be is from
        // before the clock was set.
        if (due == null || due.isAfter(now.plus(interval.multipliedBy(2)))) {
            Instant earliest = sent == null || sent.isAfter(now) ? now : later(now, sent.plus(interval));
            // Up to a fifth more after that: those that reported together do not stay together.
            long spread = earliest.equals(now) ? interval.toMillis() : interval.toMillis() / 5;
            due = earliest.plusMillis(random.nextLong(spread + 1));
        }
    }

    /** When the next one is due; empty while there is nothing to report. */
    Optional<Instant> due(Instant now) {
        if (due != null) {
            changed(now);
        }
        return Optional.ofNullable(due);
    }

    /** A report was written that has everything that had changed by then. */
    void sent(Instant now) {
        sent = now;
        due = null;
    }

    private static Instant later(Instant one, Instant other) {
        return one.isAfter(other) ? one : other;
    }
}
