package io.homeostat.desired.channel;

import com.google.common.base.Ascii;
import com.google.common.base.Throwables;
import io.grpc.Status;
import io.homeostat.desired.model.Redaction;

/** How a stream ended, or why none began. */
sealed interface Ending {
    /** What a control plane or a library says is shown no longer than this. */
    int SHOWN = 500;

    /** It was time for another. */
    record Renewed() implements Ending {}

    /** Anything that may be better next time. */
    record Broken(String error) implements Ending {}

    /** The control plane does not want us, or not so. */
    record Refused(String error, boolean token) implements Ending {}

    /**
     * The end of a call.
     *
     * @param secret must not be shown, though the other side may quote it; may be empty
     */
    static Ending of(Status status, String secret) {
        String error = "the control plane ended the stream: " + words(status, secret);
        return switch (status.getCode()) {
            // Our own deadline.
            case DEADLINE_EXCEEDED -> new Renewed();
            case UNAUTHENTICATED ->
                new Refused("the control plane does not accept our identity: " + words(status, secret), true);
            case PERMISSION_DENIED, INVALID_ARGUMENT, NOT_FOUND, UNIMPLEMENTED, FAILED_PRECONDITION ->
                new Refused("the control plane refuses the connection: " + words(status, secret), false);
            case OK -> new Broken("the control plane ended the stream");
            default -> new Broken(error);
        };
    }

    static String words(Status status, String secret) {
        String description = status.getDescription() == null ? "" : ": " + status.getDescription();
        Throwable cause = status.getCause();
        String root = cause == null ? null : Throwables.getRootCause(cause).getMessage();
        String words =
                status.getCode() + description + (root == null || description.contains(root) ? "" : " (" + root + ")");
        return shown(words, secret);
    }

    /** A text of others as it may be shown: bounded, without secrets. */
    static String shown(String text, String secret) {
        String masked = secret.isEmpty() ? text : text.replace(secret, "...");
        return Ascii.truncate(Redaction.text(masked), SHOWN, "...");
    }
}
