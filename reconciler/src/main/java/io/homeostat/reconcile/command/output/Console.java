package io.homeostat.reconcile.command.output;

import java.io.PrintStream;

/**
 * Where a command writes to: results to {@code out}, messages for people to {@code err}.
 *
 * @param ink colours of what goes to {@code out}
 */
public record Console(PrintStream out, PrintStream err, OutputFormat format, Ink ink) {
    public boolean json() {
        return format == OutputFormat.JSON;
    }

    /** Writes out what was printed; false when nobody reads it any more, so that there is no use in going on. */
    public boolean isRead() {
        return !out.checkError() && !(out instanceof StandardOutput standard && !standard.isRead());
    }

    /** A message for people. */
    public void say(String message) {
        err.println("homeostat: " + message);
        err.flush();
    }
}
