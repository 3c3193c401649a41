package io.homeostat.reconcile.command.environment;

import java.time.Duration;

/** SIGINT and SIGTERM, as an interruption of the thread that works. */
public interface Interrupts {
    /** How long the process outlives a signal to put things in order. */
    Duration PATIENCE = Duration.ofSeconds(15);

    /** From now until {@link Guard#close}, a signal interrupts the calling thread, and the process lives on until it has closed. */
    Guard guard();

    /**
     * For a daemon, which ends its process itself: until {@link Guard#close}, SIGTERM and SIGINT only interrupt the calling thread.
     *
     * @param onHangUp called for each SIGHUP, on a thread of the JVM's
     */
    Guard daemon(Runnable onHangUp);

    /** See {@link #guard}. */
    interface Guard extends AutoCloseable {
        @Override
        void close();
    }

    /** Nobody interrupts. */
    static Interrupts none() {
        return new Interrupts() {
            @Override
            public Guard guard() {
                return () -> {};
            }

            @Override
            public Guard daemon(Runnable onHangUp) {
                return () -> {};
            }
        };
    }
}
