package io.homeostat.reconcile.agent.ui;

import io.homeostat.proto.agent.CommandRequest;
import java.io.OutputStream;

/** Runs a command as if somebody had typed it. */
@FunctionalInterface
public interface CommandRunner {
    /**
     * Writes what it prints as it comes. An interrupt ends it.
     *
     * @return the exit status
     */
    int run(CommandRequest request, OutputStream out, OutputStream err) throws InterruptedException;
}
