package io.homeostat.reconcile.cli;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/** SIGINT and SIGTERM, as an interruption of the thread that works. */
interface Interrupts {
    /** How long the process outlives a signal to put things in order. */
    Duration PATIENCE = Duration.ofSeconds(15);

    /** From now until {@link Guard#close}, a signal interrupts the calling thread, and the process lives on until it has closed. */
    Guard guard();

    /** See {@link #guard}. */
    interface Guard extends AutoCloseable {
        @Override
        void close();
    }

    /** Nobody interrupts. */
    static Interrupts none() {
        return () -> () -> {};
    }

    static Interrupts ofThisProcess() {
        return () -> {
            Thread worker = Thread.currentThread();
            CountDownLatch closed = new CountDownLatch(1);
            AtomicBoolean over = new AtomicBoolean();
            // The JVM ends with 130 or 143 when its hooks are through.
            Thread hook = new Thread(
                    () -> {
                        if (!over.get()) {
                            worker.interrupt();
                            awaitQuietly(closed);
                        }
                    },
                    "interrupt");
            Runtime.getRuntime().addShutdownHook(hook);
            return () -> {
                over.set(true);
                closed.countDown();
            };
        };
    }

    private static void awaitQuietly(CountDownLatch latch) {
        try {
            if (!latch.await(PATIENCE.toSeconds(), TimeUnit.SECONDS)) {
                System.err.println("homeostat: interrupted, and what was under way did not end within "
                        + PATIENCE.toSeconds() + " s; the next command continues from what is there");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
