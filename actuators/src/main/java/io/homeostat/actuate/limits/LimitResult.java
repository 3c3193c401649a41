package io.homeostat.actuate.limits;

/** Whether the limits of a declaration hold. */
public sealed interface LimitResult {

    /** All of them do; also when there are none. */
    record Enforced() implements LimitResult {}

    /**
     * Some do not, or none.
     *
     * @param reason which, why, and what to do, for people
     */
    record Unavailable(String reason) implements LimitResult {}
}
