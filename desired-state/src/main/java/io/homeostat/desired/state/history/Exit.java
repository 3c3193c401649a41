package io.homeostat.desired.state.history;

import io.homeostat.desired.model.SignalNames;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * How a process ended.
 *
 * @param code the exit status; null when it is not known, or a signal ended the process and no shell reported 128+n
 * @param signal the signal that ended it; null when none did or it is not known
 * @param reason OOM_KILLED without a signal: not the process itself was killed, but one of its tree
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

    /** Whether the process ended by itself, with exit status 0. */
    public boolean isSuccess() {
        return reason == Reason.EXITED && code != null && code == 0;
    }

    /** For people: "exited with status 3", "was killed by signal 9, out of memory". */
    public String words() {
        return switch (reason) {
            case EXITED -> "exited with status " + code;
            case SIGNALED ->
                "was ended by signal " + (signal == null ? "of an unknown number" : SignalNames.words(signal));
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
