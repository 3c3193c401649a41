package io.homeostat.observe;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.state.Identity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.observe.health.Health;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** One launch of a workload and what has become of it. If the database was lost, it is only found on the machine, not remembered. */
public record ObservedInstance(Instance instance, boolean remembered, Liveness liveness) {

    /** What a running instance lacks and can't get back: a file that it still holds open but that was deleted, or whom it was made by. */
    public enum Loss {
        /** A plugin's socket: the plugin listens, but nobody can connect. */
        SOCKET,
        /** The log: the process writes, but nobody can read it. */
        LOG,
        /** The agent of its guest: another one runs there, which knows nothing of it. */
        GUEST_AGENT,
        /** The process with which the namespace began that the containers of its guest share. */
        SHARED_PIDS
    }

    /**
     * How an instance differs from what it was given while it ran.
     *
     * @param repairable for people: what it can be given again
     * @param remarks for people: what only another launch puts right
     */
    public record Deviation(ImmutableList<String> repairable, ImmutableList<String> remarks) {
        public static final Deviation NONE = new Deviation(ImmutableList.of(), ImmutableList.of());
    }

    /** Whether the instance runs. */
    public sealed interface Liveness {
        /** It was written down, but no process has identified itself as this launch yet; one may be about to. */
        record Pending() implements Liveness {}

        /**
         * It runs.
         *
         * @param age by the kernel's count since boot, so that setting the clock does not change it
         * @param listening for a plugin: its socket takes connections; true for a kind that has none
         * @param health null when it was not asked for; a plugin must not be asked before Start
         * @param lost what it lacks and only a new launch can bring back
         * @param deviation how what it was given differs from what it has now
         */
        record Running(
                Identity identity,
                Duration age,
                boolean listening,
                @Nullable Health health,
                ImmutableSet<Loss> lost,
                Deviation deviation)
                implements Liveness {
            /** One that has lost nothing. */
            public Running(Identity identity, Duration age, boolean listening, @Nullable Health health) {
                this(identity, age, listening, health, ImmutableSet.of());
            }

            /** One that is as it was made. */
            public Running(
                    Identity identity,
                    Duration age,
                    boolean listening,
                    @Nullable Health health,
                    ImmutableSet<Loss> lost) {
                this(identity, age, listening, health, lost, Deviation.NONE);
            }

            /** The same with what it says of its health. */
            public Running withHealth(@Nullable Health told) {
                return new Running(identity, age, listening, told, lost, deviation);
            }
        }

        /** It ended, and its whole process tree with it. */
        record Ended(Exit exit) implements Liveness {}

        /** The main process ended, but processes that it started are left. */
        record Orphaned(Exit exit, int survivors) implements Liveness {}
    }
}
