package io.homeostat.desired.store;

import io.homeostat.desired.model.WorkloadId;
import java.time.Instant;

/**
 * Somebody's wish that a workload be left alone, whatever becomes of it.
 *
 * @param reason in the words of whoever paused it
 * @param since when it was paused; a new reason does not change that
 */
public record Pause(WorkloadId workload, String reason, Instant since) {}
