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
        /** It was killed after it had used all the memory that it may; nobody has reported that this was why. */
        OOM_INFERRED,
        STOPPED,
        TIMED_OUT,
        /** Nobody listens any more in the guest that it was in. */
        GUEST_GONE,
        /** The guest that it was in has booted anew. */
        GUEST_BOOTED,
        /** Nobody can say any more whether it has ended: its driver is gone, and it was in no control group of ours. */
        DRIVER_GONE,
        UNKNOWN;

        /** Whether there was no memory for it. */
        public boolean isOutOfMemory() {
            return this == OOM_KILLED || this == OOM_INFERRED;
        }

        /** Whether it ended with the guest that it was in. */
        public boolean isOfGuest() {
            return this == GUEST_GONE || this == GUEST_BOOTED;
        }
    }

    /** Whether the process ended by itself, with exit status 0. */
    public boolean isSuccess() {
        return reason == Reason.EXITED && code != null && code == 0;
    }

    /** For people, with whose end it is: "process exited with status 3", "its guest has booted anew". */
    public String sentence() {
        return reason.isOfGuest() ? words() : "process " + words();
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
            case OOM_INFERRED ->
                "exited with status " + code + ", out of memory (it had used all that it may; nobody has reported it)";
            case STOPPED -> "was stopped";
            case TIMED_OUT -> "was stopped because it took too long";
            case GUEST_GONE -> "its guest is gone: nobody listens there any more";
            case GUEST_BOOTED -> "its guest has booted anew";
            case DRIVER_GONE ->
                "is out of sight: its driver is gone, nothing of it is left in its control groups, and whether it runs"
                        + " elsewhere is not known";
            case UNKNOWN -> "ended while nobody was looking; its status is not known";
        };
    }
}
