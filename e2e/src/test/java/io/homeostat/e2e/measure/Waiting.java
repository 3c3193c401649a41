package io.homeostat.e2e.measure;

import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** Waits for what is not measured. */
public final class Waiting {
    private static final Duration LOOK = Duration.ofMillis(5);

    private Waiting() {}

    /** What is waited for. */
    @FunctionalInterface
    public interface Check {
        boolean holds() throws IOException, InterruptedException;
    }

    /** Waits until something holds, or throws. */
    public static void until(String what, Duration patience, Check check) throws IOException, InterruptedException {
        until(what, patience, LOOK, check);
    }

    /** The same with another pause between two looks. */
    public static void until(String what, Duration patience, Duration pause, Check check)
            throws IOException, InterruptedException {
        long deadline = System.nanoTime() + patience.toNanos();
        while (!check.holds()) {
            if (System.nanoTime() > deadline) {
                throw new IOException("not within " + patience.toSeconds() + " s: " + what);
            }
            LockSupport.parkNanos(pause.toNanos());
        }
    }

    /** Lets time pass, which is what is measured of something that idles. */
    public static void pass(Duration time) throws InterruptedException {
        TimeUnit.NANOSECONDS.sleep(time.toNanos());
    }
}
