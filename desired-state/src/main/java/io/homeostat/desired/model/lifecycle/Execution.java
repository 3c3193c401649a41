package io.homeostat.desired.model.lifecycle;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.schema.Default;
import io.homeostat.desired.model.schema.Doc;
import io.homeostat.desired.model.schema.Key;
import io.homeostat.desired.model.schema.Range;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** When and how a program runs. */
public record Execution(
        @Doc("daemon: runs for ever. oneShot: runs to its end when a trigger fires.") @Default("daemon")
        Type type,

        @Doc("true: goes first at boot.") @Default("false") boolean bootCritical,

        @Doc("Whether the workload runs when no rule decides.") @Key("default") @Default("enabled")
        State defaultState,

        @Doc("Whether the workload runs when the rules match.") @Default("enabled")
        State onMatch,

        @Doc("Whether all rules have to match or any of them.") @Default("all")
        Match match,

        @Doc("Conditions on this host.") ImmutableList<Rule> rules,

        @Doc("What makes a one-shot run. Only with type oneShot.") @Nullable
        Triggers triggers,

        @Doc("How long one run of a one-shot may take; 10m when left out. Only with type oneShot.")
        @Nullable
        @Range(min = 1)
        Duration timeout) {

    /** Whether the program is expected to end. */
    public enum Type {
        DAEMON,
        ONE_SHOT
    }

    /** Whether a workload should run. */
    public enum State {
        ENABLED,
        DISABLED
    }

    /** How several rules combine. */
    public enum Match {
        ALL,
        ANY
    }

    /** How long a one-shot may run when its declaration doesn't say. */
    public static final Duration DEFAULT_TIMEOUT = Duration.ofMinutes(10);
}
