package io.homeostat.desired.state.sqlite;

/** The content of a database file is not what it must be; the message says how, as the end of a sentence about the file. */
final class DamagedException extends Exception {
    private static final long serialVersionUID = 1L;

    DamagedException(String message) {
        super(message);
    }

    DamagedException(String message, Throwable cause) {
        super(message, cause);
    }
}
