package io.homeostat.actuate;

import java.time.Duration;
import java.util.function.LongSupplier;

/** The moment at which an attempt has taken long enough. */
record Deadline(LongSupplier nanoTime, long at, Duration allowed) {
    /** Nanoseconds left. */
    long remaining() throws FailedAttempt {
        long left = at - nanoTime.getAsLong();
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
