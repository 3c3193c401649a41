package io.homeostat.observe.health;

import com.google.common.base.Ascii;
import com.google.common.base.Throwables;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.homeostat.desired.model.Redaction;
import io.homeostat.desired.model.VisibleText;
import io.homeostat.observe.health.Health.Verdict;
import java.io.IOException;
import java.io.InputStream;
import java.net.BindException;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;

/** Describes a failed call and tells whose fault it was. */
public final class CallFailure {
    /** A plugin can answer with anything; no more than this is shown. */
    private static final int SHOWN = 500;

    private CallFailure() {}

    /** Returns what to say of a failed call to people, in one line. */
    public static String words(String call, StatusRuntimeException e, Duration timeout) {
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
        return call + " failed with " + status.getCode()
                + Ascii.truncate(VisibleText.line(Redaction.text(detail)), SHOWN, "...");
    }

    /** What it says of whoever was called: nothing where the fault was ours. */
    public static Verdict verdict(StatusRuntimeException e) {
        if (isLocal(e)) {
            return Verdict.UNKNOWN;
        }
        return e.getStatus().getCode() == Status.Code.DEADLINE_EXCEEDED ? Verdict.HUNG : Verdict.UNHEALTHY;
    }

    /**
     * Whether the fault was on our side, so that nothing is known about the other one. Only local failures have a cause: an answer is a
     * code and a description, and a plugin that lacks a permission or a descriptor describes that in the same words as we do.
     */
    private static boolean isLocal(StatusRuntimeException e) {
        Throwable cause = e.getCause();
        if (cause == null) {
            return false;
        }
        return switch (e.getStatus().getCode()) {
            case CANCELLED -> cause instanceof InterruptedException;
            case UNAVAILABLE -> isLocalError(Throwables.getRootCause(cause));
            default -> false;
        };
    }

    /**
     * Whether a connection or the start of a program failed for want of our own permissions, descriptors or memory. Java has a type only
     * for the first; the others have to be recognised by their text, whose language is the system's.
     */
    public static boolean isLocalError(Throwable cause) {
        // java.net turns EACCES, also from connect, into this.
        if (cause instanceof BindException || cause instanceof AccessDeniedException) {
            return true;
        }
        String message = String.valueOf(cause.getMessage()).toLowerCase(Locale.ROOT);
        return message.contains("too many open files")
                || message.contains("cannot allocate memory")
                || message.contains("permission denied")
                || message.contains("operation not permitted")
                || !descriptorLeft();
    }

    private static boolean descriptorLeft() {
        try (InputStream file = Files.newInputStream(Path.of("/dev/null"))) {
            return file.read() < 0;
        } catch (IOException e) {
            return false;
        }
    }
}
