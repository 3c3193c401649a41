package io.homeostat.actuate.limits;

/** Whether the declared limits are enforced. */
public sealed interface LimitResult {

    /** All of them are, or there are none. */
    record Enforced() implements LimitResult {}

    /**
     * Some or all are not.
     *
     * @param reason which, why, and what to do, for people
     */
    record Unavailable(String reason) implements LimitResult {}
}
