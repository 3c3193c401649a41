package io.homeostat.reconcile.command;

import io.homeostat.proto.agent.CommandRequest;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.environment.ExitStatus;
import io.homeostat.reconcile.command.environment.UsageException;

/**
 * What somebody asks of a state directory, and what is done about it. The same object runs here, on the directory, or is sent to the
 * agent that runs there, which makes an equal one of the request and runs that.
 */
public interface Command {
    /**
     * Runs it.
     *
     * @return the exit status, see {@link ExitStatus}
     * @throws CommandFailure when it can't be done
     * @throws UsageException when it was asked for in a way that makes no sense
     */
    int run(Workspace workspace) throws InterruptedException;

    /** Puts it into a request to an agent. */
    void write(CommandRequest.Builder request);

    /** Whether it only looks, so that whoever can read the state directory can do it as well as the agent. */
    default boolean onlyLooks() {
        return true;
    }

    /** Whether it never ends by itself. */
    default boolean goesOn() {
        return false;
    }
}
