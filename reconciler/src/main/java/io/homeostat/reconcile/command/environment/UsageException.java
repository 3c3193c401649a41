package io.homeostat.reconcile.command.environment;

/** The command line says something that no command understands. */
public final class UsageException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public UsageException(String message) {
        super(message);
    }
}
