package io.homeostat.reconcile.sim;

import org.jspecify.annotations.Nullable;

/** An invariant did not hold. */
final class Violation extends AssertionError {
    private static final long serialVersionUID = 1L;

    private final Invariant invariant;

    Violation(Invariant invariant, String what) {
        this(invariant, what, null);
    }

    Violation(Invariant invariant, String what, @Nullable Throwable cause) {
        super(invariant + " (" + invariant.promise() + "): " + what, cause);
        this.invariant = invariant;
    }

    Invariant invariant() {
        return invariant;
    }
}
