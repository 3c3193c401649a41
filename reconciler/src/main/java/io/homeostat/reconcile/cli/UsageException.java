package io.homeostat.reconcile.cli;

/** The command line says something that no command understands. */
final class UsageException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    UsageException(String message) {
        super(message);
    }
}
