package io.homeostat.desired.channel;

import com.google.common.base.Ascii;
import com.google.common.base.CharMatcher;
import com.google.common.base.Strings;
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
        String words = words(status, secret);
        return switch (status.getCode()) {
            // Our own deadline.
            case DEADLINE_EXCEEDED -> new Renewed();
            case UNAUTHENTICATED -> new Refused("the control plane does not accept our identity: " + words, true);
            case PERMISSION_DENIED, INVALID_ARGUMENT, NOT_FOUND, UNIMPLEMENTED, FAILED_PRECONDITION ->
                new Refused("the control plane refuses the connection: " + words, false);
            default -> new Broken((status.getCause() == null ? "the control plane ended the stream: " : "") + words);
        };
    }

    /** A status in words. What comes from the other side is a code and a description, only what happens here has a cause. */
    static String words(Status status, String secret) {
        Throwable cause = status.getCause();
        if (cause != null) {
            Throwable root = Throwables.getRootCause(cause);
            return shown("the connection failed: " + (root.getMessage() == null ? root : root.getMessage()), secret);
        }
        String description = status.getDescription();
        return shown(status.getCode() + (Strings.isNullOrEmpty(description) ? "" : ": " + description), secret);
    }

    /** A text of others as it may be shown: one line, bounded, without secrets. */
    static String shown(String text, String secret) {
        String masked = secret.isEmpty() ? text : text.replace(secret, "...");
        return Ascii.truncate(CharMatcher.javaIsoControl().replaceFrom(Redaction.text(masked), ' '), SHOWN, "...");
    }
}
