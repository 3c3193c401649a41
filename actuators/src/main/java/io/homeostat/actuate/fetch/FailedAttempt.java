package io.homeostat.actuate.fetch;

import io.homeostat.actuate.ActuationFailure;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.desired.state.history.FailureCause.Kind;
import java.io.IOException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** A failed attempt at a download, and what to do next. The message continues "downloading X failed: ". */
final class FailedAttempt extends Exception {
    private static final long serialVersionUID = 1L;

    /** What follows a failed attempt. */
    enum Next {
        /** Another attempt. */
        AGAIN,
        /** No other attempt now. */
        GIVE_UP,
        /** No other attempt before the declaration changes. */
        FATAL
    }

    private final FailureCause failureCause;
    private final Next next;
    private final boolean worthless;
    private final Duration pause;

    private FailedAttempt(
            FailureCause failureCause,
            String message,
            Next next,
            boolean worthless,
            Duration pause,
            @Nullable Throwable cause) {
        super(message, cause);
        this.failureCause = failureCause;
        this.next = next;
        this.worthless = worthless;
        this.pause = pause;
    }

    static FailedAttempt again(FailureCause cause, String message) {
        return new FailedAttempt(cause, message, Next.AGAIN, false, Duration.ZERO, null);
    }

    static FailedAttempt again(String message, @Nullable Throwable cause) {
        return new FailedAttempt(
                ActuationFailure.causeOf(cause, Kind.CONNECTION_LOST),
                message,
                Next.AGAIN,
                false,
                Duration.ZERO,
                cause);
    }

    /** The server's answer can't be understood. What a library says of it is in the cause. */
    static FailedAttempt invalidAnswer(String what, @Nullable Throwable cause) {
        return new FailedAttempt(
                FailureCause.of(Kind.CONTENT),
                "the server's answer is invalid" + what
                        + "; is source.url the address of a web server, without a faulty proxy in between?",
                Next.AGAIN,
                false,
                Duration.ZERO,
                cause);
    }

    static FailedAttempt againAfter(FailureCause cause, Duration pause, String message) {
        return new FailedAttempt(cause, message, Next.AGAIN, false, pause, null);
    }

    /** The part on disk fits nothing that the source has. */
    static FailedAttempt againFromZero(FailureCause cause, String message) {
        return new FailedAttempt(cause, message, Next.AGAIN, true, Duration.ZERO, null);
    }

    static FailedAttempt giveUp(FailureCause cause, String message) {
        return new FailedAttempt(cause, message, Next.GIVE_UP, false, Duration.ZERO, null);
    }

    static FailedAttempt giveUp(String message, IOException cause) {
        return new FailedAttempt(
                ActuationFailure.causeOf(cause, Kind.INPUT_OUTPUT), message, Next.GIVE_UP, false, Duration.ZERO, cause);
    }

    static FailedAttempt withoutLeftovers(FailureCause cause, String message) {
        return new FailedAttempt(cause, message, Next.GIVE_UP, true, Duration.ZERO, null);
    }

    static FailedAttempt fatal(FailureCause cause, String message) {
        return new FailedAttempt(cause, message, Next.FATAL, false, Duration.ZERO, null);
    }

    static FailedAttempt tooLarge(FailureCause cause, String message) {
        return new FailedAttempt(cause, message, Next.FATAL, true, Duration.ZERO, null);
    }

    FailureCause failureCause() {
        return failureCause;
    }

    Next next() {
        return next;
    }

    /** Whether the part on disk is useless for another attempt. */
    boolean isWorthless() {
        return worthless;
    }

    /** How long the server asked us to wait. */
    Duration pause() {
        return pause;
    }

    /** The message; never null. */
    String problem() {
        return String.valueOf(getMessage());
    }
}
