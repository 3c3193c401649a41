package io.homeostat.desired.state.history;

/**
 * Why something failed, for programs: failures of equal cause are the same failure, whatever their messages say.
 *
 * @param code exit status, signal, status of HTTP or gRPC; 0 where the kind has none
 */
public record FailureCause(Kind kind, int code) {
    /** Classes of causes. */
    public enum Kind {
        EXITED,
        SIGNALED,
        OUT_OF_MEMORY,
        STOPPED,
        /** Nobody saw how the process ended. */
        END_UNKNOWN,
        /** The virtual machine that it was in is gone, has booted anew or has lost its agent. */
        GUEST_LOST,
        NO_PROCESS,
        UNKILLABLE,
        UNHEALTHY,
        TIMED_OUT,
        /** An answer that says no. */
        REFUSED,
        NO_CONNECTION,
        CONNECTION_LOST,
        HOST_UNKNOWN,
        TLS,
        HTTP_STATUS,
        REDIRECT,
        URL,
        /** What was sent is not what was announced or declared. */
        CONTENT,
        CHECKSUM,
        TOO_LARGE,
        ARCHIVE,
        UNSIGNED,
        SIGNATURE,
        ENTRY_POINT,
        ARGUMENTS,
        USER,
        TOOL_MISSING,
        LIMITS,
        DISK_FULL,
        ACCESS_DENIED,
        FILE_MISSING,
        FILE_IN_THE_WAY,
        INPUT_OUTPUT
    }

    public static FailureCause of(Kind kind) {
        return new FailureCause(kind, 0);
    }

    public static FailureCause of(Exit exit) {
        Integer code = exit.code();
        Integer signal = exit.signal();
        return switch (exit.reason()) {
            case EXITED -> new FailureCause(Kind.EXITED, code == null ? 0 : code);
            case SIGNALED -> new FailureCause(Kind.SIGNALED, signal == null ? 0 : signal);
            case OOM_KILLED, OOM_INFERRED -> of(Kind.OUT_OF_MEMORY);
            case STOPPED -> of(Kind.STOPPED);
            case TIMED_OUT -> of(Kind.TIMED_OUT);
            case GUEST_GONE, GUEST_BOOTED -> of(Kind.GUEST_LOST);
            case DRIVER_GONE, UNKNOWN -> of(Kind.END_UNKNOWN);
        };
    }
}
