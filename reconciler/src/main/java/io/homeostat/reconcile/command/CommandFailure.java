package io.homeostat.reconcile.command;

import org.jspecify.annotations.Nullable;

/** A command can't do what it was asked to; the message says what, why and what to do. */
public final class CommandFailure extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public CommandFailure(String message) {
        this(message, null);
    }

    public CommandFailure(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
