package io.homeostat.reconcile.command.output;

import io.homeostat.desired.state.StoreException;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.environment.ExitStatus;
import io.homeostat.reconcile.command.environment.OutputFormat;
import io.homeostat.reconcile.command.environment.UsageException;
import java.io.PrintStream;

/**
 * Where a command writes to: results to {@code out}, messages for people to {@code err}.
 *
 * @param ansi colours of what goes to {@code out}
 */
public record Console(PrintStream out, PrintStream err, OutputFormat format, Ansi ansi) {
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

    /** What may fail. */
    @FunctionalInterface
    public interface Work {
        int run() throws InterruptedException;
    }

    /**
     * Does something and tells people when it fails.
     *
     * @param word of the command that it is done for
     * @param debug whether to show where it failed
     * @return the exit status
     * @throws UsageException which everybody has own words for
     */
    public int tellFailures(String word, boolean debug, Work work) throws InterruptedException {
        try {
            return work.run();
        } catch (UsageException e) {
            throw e;
        } catch (CommandFailure | StoreException e) {
            fail(word, debug, e);
            return ExitStatus.FAILED;
        } catch (RuntimeException e) {
            fail(word, debug, e);
            say("this is a defect of homeostat; --log-level debug shows where it happened");
            return ExitStatus.FAILED;
        }
    }

    private void fail(String word, boolean debug, RuntimeException e) {
        say(word + ": " + (e.getMessage() == null ? e.toString() : e.getMessage()));
        if (debug) {
            e.printStackTrace(err);
        }
    }
}
