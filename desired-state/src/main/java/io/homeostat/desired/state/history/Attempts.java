package io.homeostat.desired.state.history;

import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * Failures in a row at one thing.
 *
 * @param count how often it failed; 0 when it has not
 * @param last when it last failed; null when it has not
 * @param error what went wrong last
 * @param fatal trying again can't help until the declaration changes
 */
public record Attempts(int count, @Nullable Instant last, String error, boolean fatal) {
    public static final Attempts NONE = new Attempts(0, null, "", false);

    public Attempts failed(Instant at, String why, boolean isFatal) {
        return new Attempts(count + 1, at, why, isFatal);
    }
}
