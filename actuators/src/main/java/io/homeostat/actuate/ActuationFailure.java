package io.homeostat.actuate;

import org.jspecify.annotations.Nullable;

/** A verb that did not do what it was asked to. Its message says what was tried, on what, why it failed and what to do; it has no secrets in it. */
public final class ActuationFailure extends Exception {
    private static final long serialVersionUID = 1L;

    private final boolean fatal;

    /** @param fatal see {@link #fatal()} */
    public ActuationFailure(String message, boolean fatal, @Nullable Throwable cause) {
        super(message, cause);
        this.fatal = fatal;
    }

    /** Whether trying again cannot help until the declaration changes. */
    public boolean fatal() {
        return fatal;
    }
}
