package io.homeostat.reconcile.runtime.kata;

import com.github.benmanes.caffeine.cache.Ticker;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Time as it passes for code that waits for a guest: a ticker that nobody sets, and the ways to wait by it. */
interface GuestTiming extends Ticker {
    /** The time of this machine. */
    GuestTiming SYSTEM = new GuestTiming() {
        @Override
        public long read() {
            return Ticker.systemTicker().read();
        }

        @Override
        public void sleep(Duration duration) throws InterruptedException {
            Thread.sleep(duration);
        }

        @Override
        public boolean await(CompletableFuture<?> future, Duration timeout) throws InterruptedException {
            try {
                Object _ = future.get(timeout.toNanos(), TimeUnit.NANOSECONDS);
                return true;
            } catch (TimeoutException e) {
                return false;
            } catch (ExecutionException e) {
                throw new IllegalStateException(e);
            }
        }

        @Override
        public Duration callTimeout(Duration timeout) {
            return timeout;
        }
    };

    void sleep(Duration duration) throws InterruptedException;

    /**
     * Returns whether a future completes within a timeout.
     *
     * @throws java.util.concurrent.CancellationException when it is cancelled
     */
    boolean await(CompletableFuture<?> future, Duration timeout) throws InterruptedException;

    /** Returns how long a call that may take as long as a timeout is waited for by the clock of this machine. */
    Duration callTimeout(Duration timeout);
}
