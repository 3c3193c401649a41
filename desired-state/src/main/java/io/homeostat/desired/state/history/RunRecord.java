package io.homeostat.desired.state.history;

import io.homeostat.desired.state.history.Attempts.Failures;
import java.time.Instant;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * How the processes of a workload have fared.
 *
 * @param restarts how often it was started again since it was declared
 * @param crashes how often in a row it ended by itself or became unhealthy, without being healthy long enough in between
 * @param healthySince null when it is not healthy
 * @param healthFailures failed health checks in a row
 * @param lastHealthFailure null when there is none
 * @param lastExit null when no process has ended
 * @param repairs how often in a row the same loss was repaired, and what it was; a workload that causes it itself must not be restarted
 *     forever
 * @param oneShot the last run of a one-shot; null when there was none
 * @param again the launch, by its id, that somebody wants followed by another one; empty: that of a first run; null when nobody does.
 *     What was launched since is that other one
 * @param calendar the calendar of a one-shot and since when it counts; null when it has none
 * @param completed the clean end that a daemon rests after; null when there is none
 * @param stop the last stop that was begun: the end of that launch is not its own; null when there is none
 */
public record RunRecord(
        int restarts,
        Failures crashes,
        @Nullable Instant healthySince,
        int healthFailures,
        @Nullable Instant lastHealthFailure,
        @Nullable Exit lastExit,
        Failures repairs,
        @Nullable OneShotRun oneShot,
        @Nullable String again,
        @Nullable CalendarSince calendar,
        @Nullable Completed completed,
        @Nullable Stop stop) {
    public static final RunRecord NONE =
            new RunRecord(0, Failures.NONE, null, 0, null, null, Failures.NONE, null, null, null, null, null);

    /**
     * A calendar counts from when it is first seen: what it would have made run before that is not made up for.
     *
     * @param key of what is run and when; another one counts anew
     */
    public record CalendarSince(String key, Instant since) {}

    /**
     * A clean end of a daemon whose restart policy is onFailure.
     *
     * @param work hash of what was run
     * @param bootId in which it was launched; empty when that is not known
     */
    public record Completed(String work, String launchId, String bootId, Exit exit) {}

    /**
     * A stop, written down before it begins: whoever dies meanwhile knows afterwards what the end of that launch was.
     *
     * @param launchId of what is stopped
     */
    public record Stop(String launchId, Meaning meaning) {
        /** What has become of the launch when it has ended. */
        public enum Meaning {
            STOPPED,
            /** Another revision takes its place. */
            SUPERSEDED,
            /** It was stopped because it did not work, which counts as a failure of its own. */
            FAILED
        }
    }

    public RunRecord withRestart() {
        return with(next -> next.restarts++);
    }

    public RunRecord withCrashes(Failures failures) {
        return with(next -> next.crashes = failures);
    }

    public RunRecord withRepairs(Failures failures) {
        return with(next -> next.repairs = failures);
    }

    public RunRecord withExit(Exit exit) {
        return with(next -> {
            next.lastExit = exit;
            next.healthySince = null;
            next.healthFailures = 0;
            next.lastHealthFailure = null;
        });
    }

    public RunRecord healthy(Instant since) {
        return with(next -> {
            next.healthySince = since;
            next.healthFailures = 0;
            next.lastHealthFailure = null;
        });
    }

    public RunRecord unhealthy(Instant at) {
        return with(next -> {
            next.healthySince = null;
            next.healthFailures++;
            next.lastHealthFailure = at;
        });
    }

    /** It neither works nor fails. */
    public RunRecord degraded() {
        return with(next -> next.healthySince = null);
    }

    public RunRecord withOneShot(@Nullable OneShotRun run) {
        return with(next -> next.oneShot = run);
    }

    public RunRecord withAgain(@Nullable String launchId) {
        return with(next -> next.again = launchId);
    }

    public RunRecord withCalendar(@Nullable CalendarSince counted) {
        return with(next -> next.calendar = counted);
    }

    /** Its crashes before that do not matter any more. */
    public RunRecord withCompleted(Completed end) {
        return with(next -> {
            next.completed = end;
            next.crashes = Failures.NONE;
        });
    }

    public RunRecord withoutCompleted() {
        return with(next -> next.completed = null);
    }

    public RunRecord withStop(@Nullable Stop begun) {
        return with(next -> next.stop = begun);
    }

    /** A run that failed is tried again at once if a trigger but for its calendar makes it run; until then it is the last one. */
    public RunRecord withFailedRunRetried() {
        return oneShot != null && oneShot.result() == OneShotRun.Result.FAILED ? withOneShot(oneShot.tryAgain()) : this;
    }

    private RunRecord with(Consumer<Draft> change) {
        Draft next = new Draft(this);
        change.accept(next);
        return next.done();
    }

    /** A copy to be changed: the one place that repeats all components. */
    private static final class Draft {
        int restarts;
        Failures crashes;

        @Nullable
        Instant healthySince;

        int healthFailures;

        @Nullable
        Instant lastHealthFailure;

        @Nullable
        Exit lastExit;

        Failures repairs;

        @Nullable
        OneShotRun oneShot;

        @Nullable
        String again;

        @Nullable
        CalendarSince calendar;

        @Nullable
        Completed completed;

        @Nullable
        Stop stop;

        Draft(RunRecord of) {
            restarts = of.restarts;
            crashes = of.crashes;
            healthySince = of.healthySince;
            healthFailures = of.healthFailures;
            lastHealthFailure = of.lastHealthFailure;
            lastExit = of.lastExit;
            repairs = of.repairs;
            oneShot = of.oneShot;
            again = of.again;
            calendar = of.calendar;
            completed = of.completed;
            stop = of.stop;
        }

        RunRecord done() {
            return new RunRecord(
                    restarts,
                    crashes,
                    healthySince,
                    healthFailures,
                    lastHealthFailure,
                    lastExit,
                    repairs,
                    oneShot,
                    again,
                    calendar,
                    completed,
                    stop);
        }
    }
}
