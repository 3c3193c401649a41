package io.homeostat.reconcile.plan;

import io.homeostat.desired.model.lifecycle.Restart;
import io.homeostat.desired.model.lifecycle.Start;
import io.homeostat.desired.state.history.Attempts;
import io.homeostat.desired.state.history.FailedRevision;
import java.time.Duration;
import java.time.Instant;

/** The policies: how long to leave what has failed alone. The only place that knows their numbers. */
final class Pauses {
    private static final Duration CRASH_STEP = Duration.ofSeconds(1);
    private static final Duration START_STEP = Duration.ofSeconds(1);
    private static final Duration LONGEST_BETWEEN_START_ATTEMPTS = Duration.ofSeconds(30);
    private static final Duration INSTALL_STEP = Duration.ofSeconds(10);
    private static final Duration UPGRADE_STEP = Duration.ofMinutes(10);
    private static final Duration LONGEST_BETWEEN_UPGRADES = Duration.ofHours(24);
    private static final Duration LONGEST_BETWEEN_REPAIRS = Duration.ofHours(24);
    private static final Duration UPKEEP_STEP = Duration.ofSeconds(1);
    private static final Duration LONGEST_BETWEEN_UPKEEP = Duration.ofMinutes(5);
    private static final int DOUBLING = 2;

    private Pauses() {}

    /** When a program that ended by itself is started again. */
    static Instant afterCrash(Situation situation, Attempts crashes, Restart policy) {
        Duration step = policy.initialDelay().compareTo(CRASH_STEP) > 0 ? policy.initialDelay() : CRASH_STEP;
        return after(situation, crashes, new Backoff(policy.initialDelay(), step, DOUBLING, policy.maxDelay()));
    }

    /** When a start is tried again while attempts are left. */
    static Instant betweenStarts(Situation situation, Attempts starts, Start policy) {
        Backoff backoff = new Backoff(START_STEP, START_STEP, policy.backoffFactor(), LONGEST_BETWEEN_START_ATTEMPTS);
        return after(situation, starts, backoff);
    }

    /** When a start is tried again although the declared number of attempts is used up. */
    static Instant afterLastStart(Situation situation, Attempts starts, Restart policy, int attempts) {
        Attempts beyond = new Attempts(starts.count() - attempts + 1, starts.last(), starts.error(), starts.fatal());
        return after(situation, beyond, new Backoff(INSTALL_STEP, INSTALL_STEP, DOUBLING, policy.maxDelay()));
    }

    /** When fetching, unpacking or configuring is tried again. */
    static Instant afterInstall(Situation situation, Attempts installs, Restart policy) {
        return after(situation, installs, new Backoff(INSTALL_STEP, INSTALL_STEP, DOUBLING, policy.maxDelay()));
    }

    /**
     * When a loss is made good again that comes back each time: at first at once, then as for what can't be installed, but up to a
     * day apart. What is well all the same, such as a program that writes into its own installation, is not to be restarted every few
     * minutes for ever.
     */
    static Instant afterRepair(Situation situation, Attempts repairs) {
        return after(situation, repairs, new Backoff(INSTALL_STEP, INSTALL_STEP, DOUBLING, LONGEST_BETWEEN_REPAIRS));
    }

    /** When a stop, an activation or a removal that failed is tried again. */
    static Instant afterUpkeep(Situation situation, Attempts failures) {
        return after(situation, failures, new Backoff(UPKEEP_STEP, UPKEEP_STEP, DOUBLING, LONGEST_BETWEEN_UPKEEP));
    }

    /** When an upgrade that was undone is tried again without a new declaration. */
    static Instant afterUndone(Situation situation, FailedRevision failed) {
        Attempts attempts = new Attempts(failed.times(), failed.at(), failed.error(), false);
        return after(situation, attempts, new Backoff(UPGRADE_STEP, UPGRADE_STEP, DOUBLING, LONGEST_BETWEEN_UPGRADES));
    }

    private static Instant after(Situation situation, Attempts attempts, Backoff backoff) {
        Instant last = attempts.last();
        if (last == null || attempts.count() == 0) {
            return Instant.MIN;
        }
        if (last.isAfter(situation.now())) {
            // The clock was set back: how much of the pause is over can't be told, and waiting for ever would be worse.
            return Instant.MIN;
        }
        return last.plus(backoff.after(attempts.count(), situation.id(), situation.seed()));
    }
}
