package io.homeostat.desired.fleet;

/** A published set that is not taken. The message says why and what to do; it has nothing of a document. */
public final class RefusedSet extends Exception {
    private static final long serialVersionUID = 1L;

    public RefusedSet(String message) {
        super(message);
    }
}
