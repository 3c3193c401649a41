package io.homeostat.e2e;

import java.time.Duration;

/** A command that runs until it is told to end, as a process or in this JVM. */
interface RunningCommand {
    boolean isRunning();

    /** Returns all that it has written to its standard output and standard error. */
    String soFar();

    /** Sends SIGTERM. */
    void terminate();

    /** Sends SIGHUP. */
    void hangUp();

    /** Waits for its end. The test fails when that does not come in time. */
    Result await(Duration patience);
}
