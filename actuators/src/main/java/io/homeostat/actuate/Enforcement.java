package io.homeostat.actuate;

/** Whether the limits of a declaration hold. */
public sealed interface Enforcement {

    /** All of them do; also when there are none. */
    record Enforced() implements Enforcement {}

    /**
     * Some do not, or none.
     *
     * @param reason which, why, and what to do, for people
     */
    record Unavailable(String reason) implements Enforcement {}
}
