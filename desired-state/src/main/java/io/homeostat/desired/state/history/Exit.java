package io.homeostat.desired.state.history;

import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * How a process ended.
 *
 * @param code the exit status; null when a signal ended it and no shell said 128+n, and when it isn't known
 * @param signal the signal that ended it; null when none did or it isn't known
 * @param reason OOM_KILLED without a signal: it was not killed itself, but a process of its tree was
 */
public record Exit(@Nullable Integer code, @Nullable Integer signal, Reason reason, Instant at) {
    /** Why it ended. */
    public enum Reason {
        EXITED,
        SIGNALED,
        OOM_KILLED,
        STOPPED,
        TIMED_OUT,
        UNKNOWN
    }

    /** For people: "exited with status 3", "was killed by signal 9, out of memory". */
    public String words() {
        return switch (reason) {
            case EXITED -> "exited with status " + code;
            case SIGNALED -> "was ended by signal " + signal;
            case OOM_KILLED ->
                signal == null
                        ? "exited with status " + code + " after a process of its tree was killed, out of memory"
                        : "exited with status " + (code == null ? 137 : code) + ", out of memory";
            case STOPPED -> "was stopped";
            case TIMED_OUT -> "was stopped because it took too long";
            case UNKNOWN -> "ended while nobody was looking; its status is not known";
        };
    }
}
