package io.homeostat.actuate;

import java.nio.channels.ClosedByInterruptException;

/** An interrupt during file I/O closes the channel; this turns it into the usual exception. */
public final class Interruption {
    private Interruption() {}

    /** Clears the interrupt status, as is customary before throwing {@link InterruptedException}. */
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
