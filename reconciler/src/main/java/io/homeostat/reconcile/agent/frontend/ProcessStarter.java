package io.homeostat.reconcile.agent.frontend;

import java.io.IOException;

/** Starts the processes of a front end: {@code ProcessBuilder::start}, or a fake in a test. */
@FunctionalInterface
public interface ProcessStarter {
    /**
     * Starts a process.
     *
     * @throws IOException when the program can't be started
     */
    Process start(ProcessBuilder builder) throws IOException;
}
