package io.homeostat.observe;

import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.state.Identity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.observe.health.Health;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * One launch of a workload and what has become of it.
 *
 * @param instance as remembered or, when the database was lost, as found on the machine
 * @param remembered false when the instance was only found on the machine
 */
public record ObservedInstance(Instance instance, boolean remembered, Liveness liveness) {

    /** A file that a running process holds open and that has no name any more: nobody else can get at it again. */
    public enum Loss {
        /** A plugin's socket: it listens, and nobody can connect. */
        SOCKET,
        /** The log: it writes, and nobody can read. */
        LOG
    }

    /** Whether the process is there. */
    public sealed interface Liveness {
        /** Written down, but no process has said yet that it is this launch; it may be about to. */
        record Pending() implements Liveness {}

        /**
         * There.
         *
         * @param age how long it has lived, from the kernel's own count since boot, so that a changed clock doesn't change it
         * @param listening for a plugin: its socket takes connections; true for a kind that has none
         * @param health null when it was not asked, as a plugin must not be before Start
         * @param lost what it needs and only another launch can bring back
         */
        record Running(
                Identity identity,
                Duration age,
                boolean listening,
                @Nullable Health health,
                ImmutableSet<Loss> lost) implements Liveness {
            /** One that has lost nothing. */
            public Running(Identity identity, Duration age, boolean listening, @Nullable Health health) {
                this(identity, age, listening, health, ImmutableSet.of());
            }
        }

        /** Over, with its whole process tree. */
        record Ended(Exit exit) implements Liveness {}

        /** The process is over, but processes that it started are left. */
        record Orphaned(Exit exit, int survivors) implements Liveness {}
    }
}
