package io.homeostat.reconcile.runtime;

import com.google.common.collect.ImmutableList;
import com.google.protobuf.ByteString;
import io.homeostat.actuate.ActuationFailure;

/**
 * A command that runs in an instance of a workload until it ends or this is closed. One thread reads; others may write meanwhile. Both are
 * made to wait for the other side.
 */
public interface Execution extends AutoCloseable {
    /**
     * What is to be run.
     *
     * @param command the program and its arguments
     * @param reads whether there is anything for it to read
     * @param terminal whether it gets a terminal; its output is all of standard output then
     */
    record Request(ImmutableList<String> command, boolean reads, boolean terminal) {}

    /** What comes of a command. */
    sealed interface Event {
        record Output(ByteString bytes, boolean isError) implements Event {}

        /**
         * The last one.
         *
         * @param status 0 to 255, 128 and its number for a signal
         */
        record Ended(int status) implements Event {}
    }

    /**
     * Waits for what comes next.
     *
     * @throws ActuationFailure when how the command ends won't be known
     */
    Event next() throws ActuationFailure, InterruptedException;

    /** Gives it something to read; false when nobody reads that any more, as with the others: {@link #next} says why. */
    boolean write(ByteString bytes) throws InterruptedException;

    /** There is nothing more to read. */
    boolean endInput() throws InterruptedException;

    /** Gives its terminal another size. */
    boolean resize(int rows, int columns) throws InterruptedException;

    /** Ends it, if it has not ended. */
    @Override
    void close();
}
