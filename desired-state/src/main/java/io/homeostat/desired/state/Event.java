package io.homeostat.desired.state;

import io.homeostat.desired.model.WorkloadId;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * Something that happened.
 *
 * @param workload null for what concerns the agent as a whole
 * @param revision empty where none is meant
 * @param message for people, never empty: what has nothing to add says what happened; secrets are masked beforehand
 */
public record Event(Instant time, @Nullable WorkloadId workload, String revision, EventType type, String message) {
    public Event {
        message = message.isBlank() ? type.words() : message;
    }

    /** How much of it has no bound of its own, in bytes, as the store counts it. */
    public long bytes() {
        return bytes(workload == null ? "" : workload.toString()) + bytes(revision) + bytes(message);
    }

    private static long bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8).length;
    }

    public Event withTime(Instant other) {
        return new Event(other, workload, revision, type, message);
    }

    public Event withMessage(String other) {
        return new Event(time, workload, revision, type, other);
    }
}
