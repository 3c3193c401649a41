package io.homeostat.reconcile.runtime.kata;

import com.github.benmanes.caffeine.cache.Ticker;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Time as it passes for code that waits for a guest: a ticker that nobody sets, and the ways to wait by it. */
interface GuestTime extends Ticker {
    /** The time of this machine. */
    GuestTime SYSTEM = new GuestTime() {
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
    };

    void sleep(Duration duration) throws InterruptedException;

    /**
     * Returns whether a future completes within a timeout.
     *
     * @throws java.util.concurrent.CancellationException when it is cancelled
     */
    boolean await(CompletableFuture<?> future, Duration timeout) throws InterruptedException;
}
