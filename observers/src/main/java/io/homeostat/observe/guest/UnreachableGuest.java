package io.homeostat.observe.guest;

import java.io.IOException;
import org.jspecify.annotations.Nullable;

/** No connection to the agent of a guest could be made. The message says what was tried and what to do. */
public final class UnreachableGuest extends IOException {
    /** What is in the way. */
    public enum Reason {
        /** There is no such socket on this machine. */
        NO_SOCKET,
        /** Nobody listens: the agent, or the monitor of the machine, does not run. */
        REFUSED,
        /** The monitor of the machine is there, and nobody in the machine listens yet. */
        NOT_UP,
        /** Nobody has answered in time. */
        NO_ANSWER,
        /** Whoever listens there speaks something else. */
        WRONG_PROTOCOL,
        /** No machine has this number. */
        NO_SUCH_GUEST,
        /** This machine can't speak vsock. */
        NO_VSOCK,
        /** We may not connect. */
        NOT_ALLOWED,
        /** We could not try, so that nothing is known of the guest. */
        NOT_TRIED
    }

    private static final long serialVersionUID = 1;

    private final Reason reason;

    public UnreachableGuest(Reason reason, String message, @Nullable Throwable cause) {
        super(message, cause);
        this.reason = reason;
    }

    public Reason reason() {
        return reason;
    }
}
