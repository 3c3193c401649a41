package io.homeostat.reconcile.plan;

import com.google.common.hash.Hashing;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.Lifecycle.Restart;
import io.homeostat.desired.model.Lifecycle.Start;
import io.homeostat.desired.platform.Backoff;
import io.homeostat.desired.state.history.Attempts.Failures;
import io.homeostat.desired.state.history.Attempts.ReloadFailures;
import io.homeostat.desired.state.history.WorkloadHistory.FailedRevision;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;

/** How long to wait after each kind of failure; the only place that knows the numbers. */
public final class BackoffPolicies {
    private static final Duration CRASH_STEP = Duration.ofSeconds(1);
    private static final Duration START_STEP = Duration.ofSeconds(1);
    private static final Duration LONGEST_BETWEEN_START_ATTEMPTS = Duration.ofSeconds(30);
    private static final Duration INSTALL_STEP = Duration.ofSeconds(10);
    private static final Duration UPGRADE_STEP = Duration.ofMinutes(10);
    private static final Duration LONGEST_BETWEEN_UPGRADES = Duration.ofHours(24);
    private static final Duration LONGEST_BETWEEN_REPAIRS = Duration.ofHours(24);
    private static final Duration UPKEEP_STEP = Duration.ofSeconds(1);
    private static final Duration LONGEST_BETWEEN_UPKEEP = Duration.ofMinutes(5);
    private static final Duration LONGEST_BETWEEN_RELOADS = Duration.ofMinutes(1);
    private static final Duration RELOADS_REMEMBERED = Duration.ofMinutes(5);
    private static final int DOUBLING = 2;

    /** The shortest delay after a failure other than a first crash; with less, a workload that always fails would burn a core. */
    private static final Duration FLOOR = Duration.ofMillis(100);

    private BackoffPolicies() {}

    /** When a program that ended by itself is started again. */
    static Instant afterCrash(Situation situation, Failures crashes, Restart policy) {
        Duration step = policy.initialDelay().compareTo(CRASH_STEP) > 0 ? policy.initialDelay() : CRASH_STEP;
        return after(situation, crashes, new Backoff(policy.initialDelay(), step, DOUBLING, cap(policy)));
    }

    /** When a start is tried again while attempts are left. */
    static Instant betweenStarts(Situation situation, Failures starts, Start policy) {
        Backoff backoff = new Backoff(START_STEP, START_STEP, policy.backoffFactor(), LONGEST_BETWEEN_START_ATTEMPTS);
        return after(situation, starts, backoff);
    }

    /** When a start is tried again although the declared number of attempts is used up. */
    static Instant afterLastStart(Situation situation, Failures starts, Restart policy, int attempts) {
        Failures beyond = new Failures(starts.count() - attempts + 1, starts.last(), starts.error(), starts.fatal());
        return after(situation, beyond, new Backoff(INSTALL_STEP, INSTALL_STEP, DOUBLING, cap(policy)));
    }

    /** When fetching, unpacking or configuring is tried again. */
    static Instant afterInstall(Situation situation, Failures installs, Restart policy) {
        return after(situation, installs, new Backoff(INSTALL_STEP, INSTALL_STEP, DOUBLING, cap(policy)));
    }

    /**
     * When what was lost is put back once more. The first repair is made at once; after that it is backed off from, up to a day, because a
     * workload that damages its own files would otherwise be restarted for ever.
     */
    static Instant afterRepair(Situation situation) {
        return afterRepair(situation, recentRepairs(situation));
    }

    private static Instant afterRepair(Situation situation, Failures repairs) {
        return after(situation, repairs, new Backoff(INSTALL_STEP, INSTALL_STEP, DOUBLING, LONGEST_BETWEEN_REPAIRS));
    }

    /** The repairs in a row that still count: none once nothing was lost for as long as crashes are remembered. */
    public static Failures recentRepairs(Situation situation) {
        Failures repairs = situation.history().run().repairs();
        Instant last = repairs.last();
        Declaration declared = situation.declared();
        if (last == null || declared == null) {
            return Failures.NONE;
        }
        Restart policy = declared.workload().lifecycle().restart();
        // While a repair is backed off from nothing more can be lost, so that time proves nothing; and it may be longer
        // than resetAfter.
        Instant next = afterRepair(situation, repairs);
        Instant since = next.isAfter(last) ? next : last;
        return situation.now().isBefore(since.plus(policy.resetAfter())) ? repairs : Failures.NONE;
    }

    /**
     * When a program is made to read its files again after it has just done so: at once the first time, then up to a minute later, because
     * one that changes its files itself would otherwise read them for ever.
     */
    static Instant afterReload(Situation situation) {
        return after(
                situation,
                recentReloads(situation),
                new Backoff(Duration.ZERO, UPKEEP_STEP, DOUBLING, LONGEST_BETWEEN_RELOADS));
    }

    /** The reloads in a row that went well and still count. */
    public static Failures recentReloads(Situation situation) {
        ReloadFailures reloads = situation.history().attempts().reload();
        Instant last = reloads.failures().last();
        return last != null && reloads.contents().isEmpty() && situation.now().isBefore(last.plus(RELOADS_REMEMBERED))
                ? reloads.failures()
                : Failures.NONE;
    }

    /** When a stop, an activation or a removal that failed is tried again. */
    static Instant afterUpkeep(Situation situation, Failures failures) {
        return after(situation, failures, new Backoff(UPKEEP_STEP, UPKEEP_STEP, DOUBLING, LONGEST_BETWEEN_UPKEEP));
    }

    /** When an upgrade that was undone is tried again without a new declaration. */
    static Instant afterUndone(Situation situation, FailedRevision failed) {
        if (failed.byRequest()) {
            return Instant.MAX;
        }
        Failures attempts = new Failures(failed.times(), failed.at(), failed.error(), false);
        return after(situation, attempts, new Backoff(UPGRADE_STEP, UPGRADE_STEP, DOUBLING, LONGEST_BETWEEN_UPGRADES));
    }

    private static Duration cap(Restart policy) {
        return policy.maxDelay().compareTo(FLOOR) < 0 ? FLOOR : policy.maxDelay();
    }

    private static Instant after(Situation situation, Failures attempts, Backoff backoff) {
        Instant last = attempts.last();
        if (last == null || attempts.count() == 0) {
            return Instant.MIN;
        }
        if (last.isAfter(situation.now())) {
            // The clock was set back: how much of the delay is over can't be told, and waiting for ever would be worse.
            return Instant.MIN;
        }
        int failures = attempts.count();
        // The first delay has no jitter: a first crash is seldom part of a storm.
        return last.plus(
                failures <= 1 ? backoff.bound(failures) : backoff.delay(failures, FLOOR, random(situation, failures)));
    }

    /** From the seed of this machine, so that a plan that is made twice says the same. */
    private static long random(Situation situation, int failures) {
        return Hashing.murmur3_128()
                .newHasher()
                .putLong(situation.seed())
                .putString(situation.id().toString(), StandardCharsets.UTF_8)
                .putInt(failures)
                .hash()
                .asLong();
    }
}
