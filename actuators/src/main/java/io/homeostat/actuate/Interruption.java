package io.homeostat.actuate;

import java.nio.channels.ClosedByInterruptException;

/** A thread that is interrupted in the middle of file I/O finds its channel closed; callers expect the usual exception. */
public final class Interruption {
    private Interruption() {}

    /** Clears the interrupt status, as whoever throws {@link InterruptedException} does. */
    public static InterruptedException of(ClosedByInterruptException e) {
        boolean _ = Thread.interrupted();
        InterruptedException interrupted = new InterruptedException("interrupted while reading or writing a file");
        interrupted.initCause(e);
        return interrupted;
    }

    public static void check() throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException("interrupted");
        }
    }
}
