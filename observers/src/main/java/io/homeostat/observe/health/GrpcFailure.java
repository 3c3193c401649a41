package io.homeostat.observe.health;

import com.google.common.base.Ascii;
import com.google.common.base.Throwables;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.homeostat.desired.model.Redaction;
import java.time.Duration;

/** Puts a failed call into words and says whose failure it was. */
final class GrpcFailure {
    /** A plugin can answer with anything; this much of it is shown. */
    private static final int SHOWN = 500;

    private GrpcFailure() {}

    static String words(String call, StatusRuntimeException e, Duration timeout) {
        Status status = e.getStatus();
        if (status.getCode() == Status.Code.DEADLINE_EXCEEDED) {
            return call + " was not answered within " + timeout.toMillis() + " ms";
        }
        String description = status.getDescription();
        Throwable root = Throwables.getRootCause(e);
        String detail = description == null ? "" : ": " + description;
        if (e.getCause() != null && root.getMessage() != null && !detail.contains(root.getMessage())) {
            detail += " (" + root.getMessage() + ")";
        }
        return call + " failed with " + status.getCode() + Ascii.truncate(Redaction.text(detail), SHOWN, "...");
    }

    /**
     * Whether the fault was on our side of the connection, so that nothing is known about the other. Only what happens here has a
     * cause: an answer is a code and words, and a plugin that lacks a right or a descriptor says so in the same words as we do.
     */
    static boolean ours(StatusRuntimeException e) {
        Throwable cause = e.getCause();
        if (cause == null) {
            return false;
        }
        return switch (e.getStatus().getCode()) {
            case CANCELLED -> cause instanceof InterruptedException;
            case UNAVAILABLE -> OurFault.is(Throwables.getRootCause(cause));
            default -> false;
        };
    }
}
