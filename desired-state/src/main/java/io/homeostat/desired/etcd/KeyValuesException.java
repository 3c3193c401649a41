package io.homeostat.desired.etcd;

import org.jspecify.annotations.Nullable;

/** etcd did not do what it was asked for. The message says what was tried, on what, and what to do; it has no password. */
public final class KeyValuesException extends Exception {
    private static final long serialVersionUID = 1L;

    private final Kind kind;
    private final String message;

    /** What went wrong. */
    public enum Kind {
        /** Nobody answers, or not in time, or there is no majority: try again. */
        UNAVAILABLE,
        /** The user may not do this, or is not known. */
        DENIED,
        /** Changes that were asked for are not kept any more. */
        COMPACTED,
        /** The value is too large, or there is no space left. */
        EXHAUSTED,
        /** Anything else. */
        FAILED
    }

    public KeyValuesException(Kind kind, String message, @Nullable Throwable cause) {
        super(message, cause);
        this.kind = kind;
        this.message = message;
    }

    @Override
    public String getMessage() {
        return message;
    }

    public Kind kind() {
        return kind;
    }
}
