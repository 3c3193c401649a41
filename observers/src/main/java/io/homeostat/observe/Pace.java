package io.homeostat.observe;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.util.concurrent.Uninterruptibles;
import java.time.Duration;
import java.util.function.Consumer;

/**
 * Keeps work that may be due again as soon as it is done from taking more than a quarter of the time. After a second of quiet, and at
 * first, some pieces in a row wait for nothing. Used by one thread at a time.
 */
public final class Pace {
    private static final int SHARE = 4;
    private static final long SAVED = Duration.ofSeconds(1).toNanos();

    /** On a busy machine a piece takes long without taking much of it, and nobody should wait ever longer. */
    private static final long MOST_THAT_COUNTS = Duration.ofMillis(250).toNanos();

    private final Ticker ticker;
    private final Consumer<Duration> sleep;

    /** The time that the work so far is worth, until which the next piece waits. */
    private long spent;

    private long begun;

    public Pace() {
        this(Ticker.systemTicker(), Uninterruptibles::sleepUninterruptibly);
    }

    Pace(Ticker ticker, Consumer<Duration> sleep) {
        this.ticker = ticker;
        this.sleep = sleep;
        this.spent = ticker.read() - SAVED;
    }

    /** Call before a piece of work; waits until it may begin, at most a second, and through an interrupt, which is still set then. */
    public void begin() {
        long wait = spent - ticker.read();
        if (wait > 0) {
            sleep.accept(Duration.ofNanos(wait));
        }
        begun = ticker.read();
    }

    /** Call after it, however it went. */
    public void end() {
        long took = Math.min(ticker.read() - begun, MOST_THAT_COUNTS);
        long saved = begun - SAVED;
        // Times of a ticker may overflow, their differences do not.
        spent = (spent - saved > 0 ? spent : saved) + SHARE * took;
    }
}
