package io.homeostat.desired.state;

import io.homeostat.desired.model.WorkloadId;
import java.time.Instant;
import java.time.temporal.ChronoUnit;

/**
 * Somebody's wish that a workload be left alone, or stopped.
 *
 * @param reason in the words of whoever paused it; empty when it was stopped without any
 * @param since when it was paused or stopped; a new reason does not change that
 * @param stopped whether its process is to be stopped
 */
public record Pause(WorkloadId workload, String reason, Instant since, boolean stopped) {
    /** The wish that it be left alone. */
    public Pause(WorkloadId workload, String reason, Instant since) {
        this(workload, reason, since, false);
    }

    /** For people: "paused since 2026-11-20T12:00:00Z: a look by hand". */
    public String words() {
        return (stopped ? "stopped by request since " : "paused since ")
                + since.truncatedTo(ChronoUnit.SECONDS)
                + (reason.isEmpty() ? "" : ": " + reason);
    }

    /** As {@link #words()}, with the command that ends it. */
    public String wordsWithRemedy() {
        return words() + "; homeostat " + (stopped ? "start " : "resume ") + workload + " ends that";
    }
}
