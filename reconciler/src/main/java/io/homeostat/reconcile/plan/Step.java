package io.homeostat.reconcile.plan;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.model.Config;
import io.homeostat.desired.model.Lifecycle;
import io.homeostat.desired.model.Lifecycle.Limits;
import io.homeostat.desired.model.Source;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Instance;
import io.homeostat.observe.files.FileContent;
import java.time.Duration;
import java.time.Instant;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** One thing to do about one workload: idempotent, and repeated as often as it takes. */
public sealed interface Step {

    WorkloadId workload();

    /** As it stands in the JSON of a plan. */
    String word();

    /** Brings an archive into the cache. */
    record Download(WorkloadId workload, String key, Source source) implements Step {
        @Override
        public String word() {
            return "download";
        }
    }

    /**
     * Makes an archive of the cache a complete installation.
     *
     * @param signature that it is declared to have
     * @param entryPoint that has to be in it; null when nothing of it is executed
     */
    record Unpack(
            WorkloadId workload,
            String key,
            @Nullable String signature,
            String revision,
            String directory,
            @Nullable String entryPoint)
            implements Step {
        @Override
        public String word() {
            return "unpack";
        }
    }

    /**
     * Points the workload's symlink to an installation, or removes it.
     *
     * @param directory of the installation; null when the program is local, and nothing installed is in use
     */
    record Activate(WorkloadId workload, @Nullable String directory) implements Step {
        @Override
        public String word() {
            return "activate";
        }
    }

    /**
     * Makes an instance of it. There is none when this is the next step.
     *
     * @param hash of the declaration
     * @param parent the parent's instance that it is launched in; null when it is part of no other
     */
    record Launch(
            Workload declared,
            String hash,
            @Nullable String directory,
            @Nullable String parent) implements Step {
        public Launch(Workload declared, String hash, @Nullable String directory) {
            this(declared, hash, directory, null);
        }

        /**
         * What is to be written down of it, see {@link Instance#inputs}.
         *
         * @param read what is at the paths of its files
         */
        public ImmutableSortedMap<String, String> inputs(ImmutableMap<String, FileContent> read) {
            return ImmutableSortedMap.<String, String>naturalOrder()
                    .putAll(LaunchInputs.recorded(declared, parent))
                    .putAll(LaunchInputs.ofFiles(read))
                    .buildOrThrow();
        }

        /**
         * Whether that is still there what it is to be launched in, if it ends with that.
         *
         * @param instances what is remembered of those of a workload now
         */
        public boolean hasItsParent(Function<WorkloadId, ImmutableList<Instance>> instances) {
            Traits traits = Traits.of(declared);
            return !traits.recreatedWithParent()
                    || traits.parent().stream()
                            .flatMap(whole -> instances.apply(whole).stream())
                            .anyMatch(instance ->
                                    instance.isStarted() && instance.launchId().equals(parent));
        }

        @Override
        public WorkloadId workload() {
            return declared.id();
        }

        @Override
        public String word() {
            return "launch";
        }
    }

    /**
     * Tells the one instance to start, which listens when this is the next step.
     *
     * @param trial whether something else was well before, and takes its place again when this fails
     */
    record Start(Workload declared, boolean trial) implements Step {
        public @Nullable Config config() {
            return Traits.of(declared).config();
        }

        public String configHash() {
            return Traits.of(declared).configHash();
        }

        public Duration timeout() {
            return declared.lifecycle().start().timeout();
        }

        @Override
        public WorkloadId workload() {
            return declared.id();
        }

        @Override
        public String word() {
            return "start";
        }
    }

    /** Gives the one instance, which was started, another configuration. */
    record ApplyConfig(Workload declared) implements Step {
        public @Nullable Config config() {
            return Traits.of(declared).config();
        }

        public String configHash() {
            return Traits.of(declared).configHash();
        }

        @Override
        public WorkloadId workload() {
            return declared.id();
        }

        @Override
        public String word() {
            return "applyConfig";
        }
    }

    /**
     * Makes the one instance, which was started, read its files again.
     *
     * @param how with which of them it watches
     * @param files their contents as they were seen, see {@link Instance#watched}
     */
    record Reload(Workload declared, io.homeostat.desired.model.Reload how, ImmutableSortedMap<String, String> files)
            implements Step {
        @Override
        public WorkloadId workload() {
            return declared.id();
        }

        @Override
        public String word() {
            return "reload";
        }
    }

    /** Changes the limits of what runs in place. */
    record SetLimits(WorkloadId workload, Limits limits) implements Step {
        @Override
        public String word() {
            return "setLimits";
        }
    }

    /**
     * Ends an instance with all that belongs to it.
     *
     * @param cleanup it is told to clean up after itself, because it is being removed
     */
    record Stop(Instance instance, Cause cause, boolean cleanup, Lifecycle.Stop how) implements Step {
        /** Why an instance is stopped. */
        public enum Cause {
            REMOVED,
            DISABLED,
            /** Somebody wants it not to run for now. */
            REQUESTED,
            /** Another revision, other arguments or another configuration takes its place. */
            REPLACED,
            /** The same takes its place, because its files are damaged, or its parent is another one or will be. */
            REPAIRED,
            /** It was replaced by a last good revision, or a last good revision takes its place. */
            UNDONE,
            UNHEALTHY,
            START_FAILED,
            /** It has lost what only another launch can bring back; no fault of the workload. */
            DRIFTED,
            /** The run of a one-shot is over, and it has not ended by itself. */
            RUN_OVER,
            /** It is one too many, or what one that is over left running. */
            SURPLUS
        }

        @Override
        public WorkloadId workload() {
            return instance.workload();
        }

        @Override
        public String word() {
            return "stop";
        }
    }

    /**
     * Has the machine boot anew that an instance is in.
     *
     * @param hosts what that machine runs in; they are launched once more
     */
    record Reboot(WorkloadId workload, ImmutableList<WorkloadId> hosts) implements Step {
        @Override
        public String word() {
            return "reboot";
        }
    }

    /** Removes whatever is left of a workload. */
    record Remove(WorkloadId workload) implements Step {
        @Override
        public String word() {
            return "remove";
        }
    }

    /** Removes installations that nothing refers to any more. */
    record CollectGarbage(WorkloadId workload, ImmutableList<String> directories) implements Step {
        @Override
        public String word() {
            return "collectGarbage";
        }
    }

    /**
     * Looks again later.
     *
     * @param parts what is part of the workload and has to end first: it is stopped because this waits for it; empty as a rule
     */
    record Wait(WorkloadId workload, Instant until, Kind kind, String why, ImmutableList<WorkloadId> parts)
            implements Step {
        public Wait(WorkloadId workload, Instant until, Kind kind, String why) {
            this(workload, until, kind, why, ImmutableList.of());
        }

        /** What is waited for. */
        public enum Kind {
            /** For something under way that will soon be over, one way or the other. */
            PROGRESS,
            /** For a pause after a failure to be over. */
            RETRY,
            /** For a person or a control plane: nothing changes by itself. */
            DECLARATION
        }

        @Override
        public String word() {
            return "wait";
        }
    }
}
