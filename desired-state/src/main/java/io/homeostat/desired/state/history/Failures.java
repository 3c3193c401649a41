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
public record Failures(int count, @Nullable Instant last, String error, boolean fatal) {
    public static final Failures NONE = new Failures(0, null, "", false);

    public Failures failed(Instant at, String why, boolean isFatal) {
        return new Failures(count + 1, at, why, isFatal);
    }
}
