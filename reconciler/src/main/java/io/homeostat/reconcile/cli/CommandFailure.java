package io.homeostat.reconcile.cli;

import org.jspecify.annotations.Nullable;

/** A command can't do what it was asked to; the message says what, why and what to do. */
final class CommandFailure extends RuntimeException {
    private static final long serialVersionUID = 1L;

    CommandFailure(String message) {
        this(message, null);
    }

    CommandFailure(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
