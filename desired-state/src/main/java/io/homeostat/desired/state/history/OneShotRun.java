package io.homeostat.desired.state.history;

import io.homeostat.desired.state.Instance;
import java.time.Duration;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * The last run of a one-shot. It answers every trigger that had fired when it began.
 *
 * @param work hash of what was run; the declaration may by now ask for other work, which has not run yet
 * @param launchId of its process; empty when it could not be started
 * @param bootId in which it began
 * @param instanceId on which it began
 * @param endedAt null while it is under way
 * @param exit of its process; null while it is under way, when it could not be started, and when a plugin itself said that it is done
 * @param error why it failed; empty unless it did
 * @param retried whether it failed and somebody wants it tried again: it answers for no boot, instance or interval any more, but still for
 *     the times of a calendar, which do not come back
 */
public record OneShotRun(
        String work,
        String launchId,
        String bootId,
        String instanceId,
        Instant startedAt,
        Result result,
        @Nullable Instant endedAt,
        @Nullable Exit exit,
        String error,
        boolean retried) {

    /** What has become of a run. */
    public enum Result {
        RUNNING,
        COMPLETED,
        FAILED
    }

    /** One that has just begun. */
    public static OneShotRun begun(String work, String launchId, String bootId, String instanceId, Instant at) {
        return new OneShotRun(work, launchId, bootId, instanceId, at, Result.RUNNING, null, null, "", false);
    }

    public OneShotRun completed(Instant at, @Nullable Exit how) {
        return new OneShotRun(work, launchId, bootId, instanceId, startedAt, Result.COMPLETED, at, how, "", false);
    }

    public OneShotRun failed(Instant at, @Nullable Exit how, String why) {
        return new OneShotRun(work, launchId, bootId, instanceId, startedAt, Result.FAILED, at, how, why, false);
    }

    OneShotRun tryAgain() {
        return new OneShotRun(work, launchId, bootId, instanceId, startedAt, result, endedAt, exit, error, true);
    }

    public boolean isOf(Instance instance) {
        return launchId.equals(instance.launchId());
    }

    /** Whether a process was started for it. */
    public boolean hasStarted() {
        return !launchId.isEmpty();
    }

    /** How long it took; null while it is under way. Never less than nothing, whatever was done to the clock meanwhile. */
    public @Nullable Duration duration() {
        if (endedAt == null) {
            return null;
        }
        Duration between = Duration.between(startedAt, endedAt);
        return between.isNegative() ? Duration.ZERO : between;
    }
}
