package io.homeostat.reconcile.cli;

import java.io.PrintStream;

/**
 * Where a command writes to: results to {@code out}, messages for people to {@code err}.
 *
 * @param ink colours of what goes to {@code out}
 */
record Console(PrintStream out, PrintStream err, OutputFormat format, Ink ink) {
    boolean json() {
        return format == OutputFormat.JSON;
    }

    /** Writes out what was printed; false when nobody reads it any more, so that there is no use in going on. */
    boolean isRead() {
        return !out.checkError() && !(out instanceof StandardOutput standard && !standard.isRead());
    }

    /** A message for people. */
    void say(String message) {
        err.println("homeostat: " + message);
        err.flush();
    }
}
