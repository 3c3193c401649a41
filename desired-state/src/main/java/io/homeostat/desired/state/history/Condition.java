package io.homeostat.desired.state.history;

import java.time.Instant;

/**
 * One aspect of a workload's state.
 *
 * @param message for people; empty when all is well
 * @param lastTransitionTime when {@code status} last changed
 */
public record Condition(Type type, Status status, Reason reason, String message, Instant lastTransitionTime) {
    /** What the condition is about. */
    public enum Type {
        CONVERGED("Converged"),
        HEALTHY("Healthy"),
        PAUSED("Paused"),
        GIVEN_UP("GivenUp"),
        ROLLED_BACK("RolledBack"),
        /** Only where limits are declared and do not hold. */
        LIMITS_NOT_ENFORCED("LimitsNotEnforced"),
        /** Only where rules or the declaration say whether it is to run at all. */
        DISABLED("Disabled");

        private final String word;

        Type(String word) {
            this.word = word;
        }

        public String word() {
            return word;
        }
    }

    /** As Kubernetes conditions have it. */
    public enum Status {
        TRUE("True"),
        FALSE("False"),
        UNKNOWN("Unknown");

        private final String word;

        Status(String word) {
            this.word = word;
        }

        public String word() {
            return word;
        }
    }
}
