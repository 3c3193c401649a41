package io.homeostat.desired.channel;

import com.google.common.base.Strings;
import com.google.common.base.Throwables;
import io.grpc.Status;
import io.homeostat.desired.model.Redaction;
import io.homeostat.desired.model.VisibleText;

/** How a stream ended, or why there was none. */
sealed interface StreamOutcome {
    /** What the other side or a library says is cut after this many characters. */
    int LONGEST_ERROR = 500;

    /** Its time was up; another one replaces it. */
    record Renewed() implements StreamOutcome {}

    /** It did not come about, or broke off. The error is for people and contains no secrets. */
    record Failed(Cause cause, String error) implements StreamOutcome {}

    enum Cause {
        /** Who we are is not known: no metadata server, no token. */
        NO_IDENTITY,
        /** The endpoint, or what secures it, can't be used as it is configured. */
        BAD_ENDPOINT,
        /** There is no connection, or it was lost. */
        DISCONNECTED,
        /** The registration was not answered. */
        NO_ANSWER,
        /** The control plane ended the stream. */
        ENDED,
        UNEXPECTED,
        /** The control plane does not accept our token. */
        UNAUTHENTICATED,
        /** The control plane does not want us. */
        REFUSED;

        /** Whether it is unlikely to be better soon. */
        boolean isRefusal() {
            return this == UNAUTHENTICATED || this == REFUSED;
        }
    }

    /**
     * The end of a call.
     *
     * @param secret masked, as the other side may quote it; may be empty
     */
    static StreamOutcome of(Status status, String secret) {
        String description = describe(status, secret);
        return switch (status.getCode()) {
            // Our own deadline.
            case DEADLINE_EXCEEDED -> new Renewed();
            case UNAUTHENTICATED ->
                new Failed(Cause.UNAUTHENTICATED, "the control plane does not accept our identity: " + description);
            case PERMISSION_DENIED, INVALID_ARGUMENT, NOT_FOUND, UNIMPLEMENTED, FAILED_PRECONDITION ->
                new Failed(Cause.REFUSED, "the control plane refuses the connection: " + description);
            default ->
                status.getCause() == null
                        ? new Failed(Cause.ENDED, "the control plane ended the stream: " + description)
                        : new Failed(Cause.DISCONNECTED, description);
        };
    }

    /** Only what fails here has a cause; what comes from the other side is a code and a description. */
    static String describe(Status status, String secret) {
        Throwable cause = status.getCause();
        if (cause != null) {
            Throwable root = Throwables.getRootCause(cause);
            return shown("the connection failed: " + (root.getMessage() == null ? root : root.getMessage()), secret);
        }
        String description = status.getDescription();
        return shown(status.getCode() + (Strings.isNullOrEmpty(description) ? "" : ": " + description), secret);
    }

    /** A foreign text as it may be shown: one line, bounded, without secrets. */
    static String shown(String text, String secret) {
        String masked = secret.isEmpty() ? text : text.replace(secret, "...");
        return VisibleText.cut(VisibleText.line(Redaction.text(masked)), LONGEST_ERROR);
    }
}
