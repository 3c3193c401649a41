package io.homeostat.actuate.fetch;

import com.github.benmanes.caffeine.cache.Ticker;
import java.time.Duration;

/** The moment at which an attempt has taken long enough. */
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
        return FailedAttempt.again("it took longer than the " + allowed.toMillis() / 1000.0
                + " s allowed for one attempt (source.timeout)");
    }
}
