package io.homeostat.reconcile.agent.api;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** The agent could not be reached, or the API not be served. The message says what was tried, on which socket and why it failed. */
public final class ApiException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** What it means for whoever called. */
    public enum Kind {
        /** The agent could not begin to serve. */
        NOT_SERVED,
        /** Nothing at all came back. */
        UNANSWERED,
        /** The agent had heard, and went away before it said how it ended. */
        LOST,
        /** The agent is of a version that knows no such call. */
        UNKNOWN_CALL,
        /** The agent did not take the call. */
        REFUSED
    }

    private final Kind kind;

    public ApiException(Kind kind, String message, @Nullable Throwable cause) {
        super(message, cause);
        this.kind = kind;
    }

    @Override
    public String getMessage() {
        return Objects.requireNonNull(super.getMessage());
    }

    public Kind kind() {
        return kind;
    }
}
