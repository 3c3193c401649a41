package io.homeostat.reconcile.command;

/** One subcommand, ready to run. */
public interface Command {
    /**
     * Runs it.
     *
     * @return the process's exit status, see {@link ExitStatus}
     * @throws CommandFailure when it can't be done
     * @throws UsageException when it was asked for in a way that makes no sense
     */
    int run() throws InterruptedException;
}
