package io.homeostat.desired.remote;

/** A set could not be fetched. The message says why, as the end of a sentence about the source, and what to do; it has no secrets. */
public final class FetchFailure extends Exception {
    private static final long serialVersionUID = 1L;

    public FetchFailure(String message) {
        super(message);
    }

    public FetchFailure(String message, Throwable cause) {
        super(message, cause);
    }

    /** The same as the message, which is always there. */
    public String words() {
        return String.valueOf(getMessage());
    }
}
