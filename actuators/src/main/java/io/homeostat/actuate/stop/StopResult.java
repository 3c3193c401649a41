package io.homeostat.actuate.stop;

import io.homeostat.desired.state.history.Exit;
import java.util.Optional;

/**
 * How a launch ended.
 *
 * @param how the strongest means that was needed
 * @param exit of the main process, if it was recorded
 */
public record StopResult(How how, Optional<Exit> exit) {
    /** From the gentlest to the strongest. */
    public enum How {
        /** Nothing ran any more. */
        ALREADY_GONE,
        /** The plugin protocol's Stop was enough. */
        ASKED,
        /** SIGTERM. */
        TERMINATED,
        /** SIGKILL. */
        KILLED;

        How or(How other) {
            return compareTo(other) >= 0 ? this : other;
        }
    }

    /** For people. */
    public String words() {
        return switch (how) {
            case ALREADY_GONE -> "had ended already";
            case ASKED -> "ended when it was asked to";
            case TERMINATED -> "ended after SIGTERM";
            case KILLED -> "did not end in time and was killed";
        };
    }
}
