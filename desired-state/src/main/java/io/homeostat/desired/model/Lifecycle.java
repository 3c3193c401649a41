package io.homeostat.desired.model;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.schema.Cpu;
import io.homeostat.desired.model.schema.Fields;
import io.homeostat.desired.model.schema.Fields.Default;
import io.homeostat.desired.model.schema.Fields.Doc;
import io.homeostat.desired.model.schema.Fields.Matches;
import io.homeostat.desired.model.schema.Fields.NamesWorkload;
import io.homeostat.desired.model.schema.Fields.Range;
import io.homeostat.desired.model.schema.Size;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** What every kind of workload declares of how it is kept running. */
public record Lifecycle(
        @Doc("Limits for the whole process tree, in force from its first instruction.")
        Limits limits,

        @Doc("How long a start may take and how often it is tried.")
        Start start,

        @Doc("How long a stop may take.") Stop stop,

        @Doc("How health is checked and when it counts as lost.")
        HealthCheck health,

        @Doc("When the program is started again after it ended.")
        Restart restart,

        @Doc("How CPU and memory of the process tree are sampled.")
        Metrics metrics,

        @Doc("When and how the program runs.") Execution execution,

        @Doc("Workloads that have to run well before this one is started, and are stopped after it.") @NamesWorkload
        ImmutableList<String> dependsOn,

        @Doc(
                "How many workloads with the same value of a label may be down because of changes; any number when left out.")
        @Nullable
        MaxDisruption maxDisruption,

        @Doc("When upgrades and other changes of what runs may be made; at any time when left out.") @Nullable
        MaintenanceWindow maintenanceWindow,

        @Doc(
                "How many revisions that were seen to work stay installed, the one that runs among them: homeostat rollback needs no download for these. What is declared and was rolled back stays beside them. 2 when left out.")
        @Range(min = 1, max = 10)
        @Nullable
        Integer keepRevisions) {

    private static final int REVISIONS_KEPT = 2;

    /** How many revisions that were seen to work stay installed. */
    public int keptRevisions() {
        return keepRevisions == null ? REVISIONS_KEPT : keepRevisions;
    }

    /** Limits of a process tree; what is left out is not limited. */
    public record Limits(
            @Doc(
                    "The most memory the process tree may use. Beyond it the kernel kills it, and the workload is restarted.")
            @Range(min = 1)
            @Nullable
            Size memory,

            @Doc("Percent of one core; above 100% for several cores.") @Nullable
            Cpu cpu,

            @Doc("true: where limits can't be enforced, the program is not started.") @Default("false")
            boolean required,

            @Doc(
                    "true: beyond the memory limit the kernel kills all of the process tree and not one process of it; takes control groups of version 2.")
            @Default("false")
            boolean oomGroup,

            @Doc("Of a Task: the most memory it may use while the machine has some to spare; memory when left out.")
            @Range(min = 1)
            @Nullable
            Size memoryMax,

            @Doc("Of a Task: how many processors it has for itself, where its driver can do that; 0 for none.")
            @Range(min = 0, max = 4096)
            @Nullable
            Integer cores,

            @Doc("Of a Container: how many processes it may have, where its guest can limit that.")
            @Range(min = 1, max = 4_194_304)
            @Nullable
            Integer pids) {

        public static final Limits NONE = new Limits(null, null, false);

        /** Of which the kernel kills one process when memory runs out. */
        public Limits(@Nullable Size memory, @Nullable Cpu cpu, boolean required) {
            this(memory, cpu, required, false);
        }

        /** Of a process tree of ours. */
        public Limits(@Nullable Size memory, @Nullable Cpu cpu, boolean required, boolean oomGroup) {
            this(memory, cpu, required, oomGroup, null, null, null);
        }

        /** Whether anything is limited. */
        public boolean areAny() {
            return memory != null || cpu != null || memoryMax != null || pids != null || (cores != null && cores > 0);
        }
    }

    /** When a start counts as failed. */
    public record Start(
            @Doc("How long the program may take to become healthy.") @Default("30s") @Range(min = 1)
            Duration timeout,

            @Doc("How often a start is tried before the revision counts as failed.")
            @Default("3")
            @Range(min = 1, max = 1000)
            int attempts,

            @Doc("By how much the pause between two attempts grows.") @Default("2") @Range(min = 1, max = 100)
            int backoffFactor) {}

    /** How a program is asked to end. */
    public record Stop(
            @Doc("How long the program may take to end before its whole process tree is killed.")
            @Default("30s")
            @Range(min = 1)
            Duration timeout,

            @Doc("The signal that asks the program to end; SIGTERM when left out.")
            @Matches(
                    value = "SIG(TERM|INT|QUIT|HUP|USR1|USR2|WINCH|KILL)",
                    words = "SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2, SIGWINCH or SIGKILL")
            @Nullable
            String signal) {

        /** By SIGTERM. */
        public Stop(Duration timeout) {
            this(timeout, null);
        }
    }

    /** How often health is checked, and when it counts as lost. */
    public record HealthCheck(
            @Doc("Time from one check to the next.") @Default("10s") @Range(min = 1)
            Duration interval,

            @Doc("How long one check may take.") @Default("2s") @Range(min = 1)
            Duration timeout,

            @Doc("How many checks in a row have to fail before the program is restarted.")
            @Default("3")
            @Range(min = 1, max = 1000)
            int failureThreshold) {}

    /** The policy for a program that ended by itself: at once, then exponentially later with full jitter, up to a cap. */
    public record Restart(
            @Doc("Pause before the first restart.") @Default("0s")
            Duration initialDelay,

            @Doc("The longest pause between two restarts; less than 100ms counts as 100ms.") @Default("5m")
            Duration maxDelay,

            @Doc("After this long in health the count of restarts begins anew.") @Default("10m") @Range(min = 1)
            Duration resetAfter,

            @Doc("After how many restarts in a row to give up; 0: never.") @Default("0") @Range(max = 1000000)
            int giveUpAfter,

            @Doc(
                    "always: however the program ended. onFailure: unless it ended with exit status 0, which completes the workload until what it runs changes, the machine boots or somebody starts it. never: however it ended, until what it runs changes or somebody starts it; a start that fails is tried again, as start says. always when left out; of no account for a oneShot.")
            @Nullable
            Policy policy) {

        /** After which ends the program is started again. */
        public enum Policy {
            ALWAYS,
            ON_FAILURE,
            NEVER
        }

        /** However it ended. */
        public Restart(Duration initialDelay, Duration maxDelay, Duration resetAfter, int giveUpAfter) {
            this(initialDelay, maxDelay, resetAfter, giveUpAfter, null);
        }
    }

    /** How resource usage is sampled. */
    public record Metrics(
            @Doc("Time from one sample to the next.") @Default("10s") @Range(min = 100)
            Duration interval,

            @Doc("How many samples are kept; the oldest go first.") @Default("60") @Range(min = 1, max = 100000)
            int maxDatapoints) {}

    /** When and how a program runs. */
    public record Execution(
            @Doc("daemon: runs for ever. oneShot: runs to its end when a trigger fires.") @Default("daemon")
            Type type,

            @Doc("true: goes first at boot.") @Default("false")
            boolean bootCritical,

            @Doc("Whether the workload runs when no rule decides.") @Fields.Key("default") @Default("enabled")
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

    /** One comparison of a fact about this host with a value. */
    public record Rule(
            @Doc("Where the fact comes from: os (os-release), instance or metadata (metadata server).")
            Scope scope,

            @Doc("The name of the fact, such as ID for os.") @Range(min = 1)
            String attribute,

            @Doc("How the fact is compared.") Operator operator,
            @Doc("What the fact is compared with.") String value) {

        /** Where facts come from. */
        public enum Scope {
            OS,
            INSTANCE,
            METADATA
        }

        /** How a fact is compared with the value of a rule. */
        public enum Operator {
            EQUAL,
            NOT_EQUAL,
            CONTAINS
        }
    }

    /** What makes a one-shot run; several may be set. */
    public record Triggers(
            @Doc("Once each time the machine boots.") @Default("false")
            boolean startup,

            @Doc("Once in the life of an instance.") @Default("false")
            boolean firstBoot,

            @Doc("Again and again at this interval.") @Range(min = 1000) @Nullable
            Duration every,

            @Doc("By the calendar. Of times that pass while nobody is there to see them one is made up for.") @Nullable
            Calendar schedule) {

        /** Without a calendar. */
        public Triggers(boolean startup, boolean firstBoot, @Nullable Duration every) {
            this(startup, firstBoot, every, null);
        }
    }

    /** How many workloads that have the same value of a label may be down at a time because of changes. */
    public record MaxDisruption(
            @Doc("The label; workloads with the same value of it are counted together.") @Range(min = 1)
            String label,

            @Doc("How many of them may be down for a change of this one to begin, itself included.")
            @Default("1")
            @Range(min = 1, max = 100_000)
            int count) {}
}
