package io.homeostat.reconcile.command.output;

import io.homeostat.desired.state.StoreException;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.environment.ExitStatus;
import io.homeostat.reconcile.command.environment.GlobalOptions.OutputFormat;
import io.homeostat.reconcile.command.environment.UsageException;
import java.io.PrintStream;

/** Where a command writes: results to {@code out}, in these colours, messages for people to {@code err}. */
public record Console(PrintStream out, PrintStream err, OutputFormat format, Ansi ansi) {
    public boolean json() {
        return format == OutputFormat.JSON;
    }

    /** Writes out what was printed; false when nobody reads it any more, so that there is no use in going on. */
    public boolean isRead() {
        return !out.checkError() && !(out instanceof StandardOutput standard && !standard.isRead());
    }

    public void say(String message) {
        err.println("homeostat: " + message);
        err.flush();
    }

    @FunctionalInterface
    public interface Work {
        int run() throws InterruptedException;
    }

    /**
     * Runs something and tells people when it fails; returns the exit status.
     *
     * @param debug whether to show where it failed
     * @throws UsageException which each caller words in its own way
     */
    public int tellFailures(String word, boolean debug, Work work) throws InterruptedException {
        try {
            return work.run();
        } catch (UsageException e) {
            throw e;
        } catch (CommandFailure | StoreException e) {
            fail(word, debug, e);
            return ExitStatus.FAILED;
        } catch (RuntimeException | Error e) {
            fail(word, debug, e);
            say("this is a defect of homeostat; --log-level debug shows where it happened");
            return ExitStatus.FAILED;
        }
    }

    private void fail(String word, boolean debug, Throwable e) {
        say(word + ": " + (e.getMessage() == null ? e.toString() : e.getMessage()));
        if (debug) {
            e.printStackTrace(err);
        }
    }
}
