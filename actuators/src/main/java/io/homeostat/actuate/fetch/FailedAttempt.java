package io.homeostat.actuate.fetch;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** One attempt at a download failed; says what to do next. Its message continues "downloading X failed: ". */
final class FailedAttempt extends Exception {
    private static final long serialVersionUID = 1L;

    /** What comes after a failed attempt. */
    enum Next {
        /** Another attempt. */
        AGAIN,
        /** No other attempt now. */
        GIVE_UP,
        /** No other attempt before the declaration changes. */
        FATAL
    }

    private final Next next;
    private final boolean worthless;
    private final Duration pause;

    private FailedAttempt(String message, Next next, boolean worthless, Duration pause, @Nullable Throwable cause) {
        super(message, cause);
        this.next = next;
        this.worthless = worthless;
        this.pause = pause;
    }

    static FailedAttempt again(String message) {
        return new FailedAttempt(message, Next.AGAIN, false, Duration.ZERO, null);
    }

    static FailedAttempt again(String message, Throwable cause) {
        return new FailedAttempt(message, Next.AGAIN, false, Duration.ZERO, cause);
    }

    static FailedAttempt againAfter(Duration pause, String message) {
        return new FailedAttempt(message, Next.AGAIN, false, pause, null);
    }

    /** What is there fits nothing that the source has. */
    static FailedAttempt againFromZero(String message) {
        return new FailedAttempt(message, Next.AGAIN, true, Duration.ZERO, null);
    }

    static FailedAttempt giveUp(String message) {
        return new FailedAttempt(message, Next.GIVE_UP, false, Duration.ZERO, null);
    }

    static FailedAttempt giveUp(String message, Throwable cause) {
        return new FailedAttempt(message, Next.GIVE_UP, false, Duration.ZERO, cause);
    }

    static FailedAttempt withoutLeftovers(String message) {
        return new FailedAttempt(message, Next.GIVE_UP, true, Duration.ZERO, null);
    }

    static FailedAttempt fatal(String message) {
        return new FailedAttempt(message, Next.FATAL, false, Duration.ZERO, null);
    }

    static FailedAttempt tooLarge(String message) {
        return new FailedAttempt(message, Next.FATAL, true, Duration.ZERO, null);
    }

    Next next() {
        return next;
    }

    /** Whether the bytes that are there are of no use for another attempt. */
    boolean isWorthless() {
        return worthless;
    }

    /** How long the server asked to be left alone. */
    Duration pause() {
        return pause;
    }

    /** The message; never null. */
    String problem() {
        return String.valueOf(getMessage());
    }
}
