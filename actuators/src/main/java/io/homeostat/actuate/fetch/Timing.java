package io.homeostat.actuate.fetch;

import com.github.benmanes.caffeine.cache.Ticker;
import io.homeostat.desired.state.history.FailureCause;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Random;
import java.util.random.RandomGenerator;

/** The clock (compared with dates that servers send), ticker, timer and randomness (spreads retries) of downloads. */
record Timing(InstantSource clock, Ticker ticker, Sleeper sleeper, RandomGenerator random) {

    interface Sleeper {
        void sleep(Duration duration) throws InterruptedException;
    }

    static Timing real() {
        return new Timing(InstantSource.system(), Ticker.systemTicker(), Thread::sleep, new Random());
    }

    Deadline in(Duration duration) {
        return new Deadline(ticker, ticker.read() + saturatedNanos(duration), duration);
    }

    private static long saturatedNanos(Duration duration) {
        // Half of the maximum, so that adding the present time does not overflow: 146 years.
        return duration.compareTo(Duration.ofNanos(Long.MAX_VALUE / 2)) < 0 ? duration.toNanos() : Long.MAX_VALUE / 2;
    }

    /** The end of the time for one attempt. */
    record Deadline(Ticker ticker, long at, Duration allowed) {
        /** Nanoseconds left. */
        long remaining() throws FailedAttempt {
            long left = at - ticker.read();
            if (left <= 0) {
                throw expired();
            }
            return left;
        }

        FailedAttempt expired() {
            return FailedAttempt.again(
                    FailureCause.of(FailureCause.Kind.TIMED_OUT),
                    "it took longer than the " + allowed.toMillis() / 1000.0
                            + " s allowed for one attempt (source.timeout)");
        }
    }
}
