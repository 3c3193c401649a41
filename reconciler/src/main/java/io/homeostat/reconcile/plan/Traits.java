package io.homeostat.reconcile.plan;

import com.google.common.base.Splitter;
import com.google.common.cache.Cache;
import com.google.common.cache.CacheBuilder;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedSet;
import com.google.common.hash.Hasher;
import com.google.common.hash.Hashing;
import io.homeostat.desired.model.Config;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.Reload;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.model.WorkloadSpec;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.observe.files.FileContent;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * All that planning, recording and status know of a declaration's kind. They ask these traits and never which kind it is, so that a
 * new kind only has to provide its own.
 *
 * @param readiness what shows that an instance has started
 * @param completion what shows that the run of a one-shot is over
 * @param hasHealth whether an instance can be asked how it is
 * @param config what a running instance can be given anew; null when there is nothing, or when it takes another launch
 * @param configIsLimits whether that only limits what is done, and is no other work
 * @param irrevocable parts of the config that an instance that has them can only be rid of by another launch
 * @param reload how a running instance is made to read its files again, and which; null when it is not
 * @param limiting when limits can be set
 * @param inputs what can't change while an instance runs, in the order in which it is named as a reason for another launch
 * @param entryPoint the file of the archive that is executed; null when none is
 * @param parent the workload whose instance an instance of this one is part of
 * @param recreatedWithParent whether an instance ends with the parent's instance it was launched in
 * @param hosts workloads that the machine runs in which an instance is; launched again, they boot it anew
 */
public record Traits(
        Readiness readiness,
        Completion completion,
        boolean hasHealth,
        @Nullable Config config,
        boolean configIsLimits,
        ImmutableSortedSet<String> irrevocable,
        @Nullable Reload reload,
        Limiting limiting,
        ImmutableList<LaunchInput> inputs,
        @Nullable String entryPoint,
        Optional<WorkloadId> parent,
        boolean recreatedWithParent,
        ImmutableList<WorkloadId> hosts) {
    private static final String PLUS = "+";

    /** By identity: a pass asks for those of the same declaration dozens of times, and they contain digests. */
    private static final Cache<WorkloadSpec, Traits> KNOWN =
            CacheBuilder.newBuilder().weakKeys().build();

    /** Of what runs as soon as it is created, and until its end; whatever is special is added. */
    public Traits(ImmutableList<LaunchInput> inputs, @Nullable String entryPoint, Limiting limiting) {
        this(
                Readiness.STAYED_ALIVE,
                Completion.EXIT,
                false,
                null,
                false,
                ImmutableSortedSet.of(),
                null,
                limiting,
                inputs,
                entryPoint,
                Optional.empty(),
                false,
                ImmutableList.of());
    }

    /** Of what can say how it is, which need not be what shows that it has started, or is over. */
    public Traits withHealth(Readiness shown, Completion over) {
        return with(next -> {
            next.readiness = shown;
            next.completion = over;
            next.hasHealth = true;
        });
    }

    /** The same with one more thing that can't change while an instance runs. */
    public Traits with(LaunchInput input) {
        return with(next -> next.inputs =
                ImmutableList.<LaunchInput>builder().addAll(inputs).add(input).build());
    }

    public Traits withConfig(@Nullable Config given) {
        return withConfig(given, ImmutableSortedSet.of());
    }

    /**
     * Of what can be given another configuration while it runs, but not taken back all of it.
     *
     * @param kept names, without plus signs, of those parts that can't be
     */
    public Traits withConfig(@Nullable Config given, ImmutableSortedSet<String> kept) {
        return with(next -> {
            next.config = given;
            next.irrevocable = kept;
        });
    }

    /** As {@link #withConfig(Config, ImmutableSortedSet)}, of what is only limited in another way by it. */
    public Traits withLimits(Config given, ImmutableSortedSet<String> kept) {
        return withConfig(given, kept).with(next -> next.configIsLimits = true);
    }

    public Traits withReload(@Nullable Reload how) {
        return with(next -> next.reload = how);
    }

    public Traits withParent(WorkloadId whole, boolean recreated) {
        return with(next -> {
            next.parent = Optional.of(whole);
            next.recreatedWithParent = recreated;
        });
    }

    public Traits withHosts(ImmutableList<WorkloadId> machines) {
        return with(next -> next.hosts = machines);
    }

    private Traits with(Consumer<Draft> change) {
        Draft next = new Draft(this);
        change.accept(next);
        return next.done();
    }

    /** A copy to be changed: the one place that repeats all components. */
    private static final class Draft {
        private final Limiting limiting;
        private final @Nullable String entryPoint;
        private Readiness readiness;
        private Completion completion;
        private boolean hasHealth;
        private @Nullable Config config;
        private boolean configIsLimits;
        private ImmutableSortedSet<String> irrevocable;
        private @Nullable Reload reload;
        private ImmutableList<LaunchInput> inputs;
        private Optional<WorkloadId> parent;
        private boolean recreatedWithParent;
        private ImmutableList<WorkloadId> hosts;

        Draft(Traits of) {
            readiness = of.readiness;
            completion = of.completion;
            hasHealth = of.hasHealth;
            config = of.config;
            configIsLimits = of.configIsLimits;
            irrevocable = of.irrevocable;
            reload = of.reload;
            limiting = of.limiting;
            inputs = of.inputs;
            entryPoint = of.entryPoint;
            parent = of.parent;
            recreatedWithParent = of.recreatedWithParent;
            hosts = of.hosts;
        }

        Traits done() {
            return new Traits(
                    readiness,
                    completion,
                    hasHealth,
                    config,
                    configIsLimits,
                    irrevocable,
                    reload,
                    limiting,
                    inputs,
                    entryPoint,
                    parent,
                    recreatedWithParent,
                    hosts);
        }
    }

    /** When limits can be set. */
    public enum Limiting {
        NEVER,
        /** They are part of a launch. */
        AT_LAUNCH,
        /** Also while an instance runs. */
        IN_PLACE
    }

    /** What shows that a one-shot's run is over. */
    public enum Completion {
        /** Its instance ends. */
        EXIT,
        /** It says so when it is asked how it is. */
        STATUS
    }

    /**
     * One thing that can't change while an instance runs.
     *
     * @param added whether versions that launched what still runs did not know it: nothing of it is then the same as no record of it
     * @param files whose contents, as they are at the launch, are part of it
     * @param hash of the parts
     */
    public record LaunchInput(
            String name,
            ImmutableList<String> parts,
            Reason changed,
            boolean added,
            ImmutableList<LaunchFile> files,
            String hash) {
        /** The hash of most inputs of most workloads, which all share. */
        private static final String OF_NOTHING =
                Hashing.sha256().newHasher().hash().toString();

        public LaunchInput(
                String name,
                ImmutableList<String> parts,
                Reason changed,
                boolean added,
                ImmutableList<LaunchFile> files) {
            this(name, parts, changed, added, files, hash(parts));
        }

        public LaunchInput(String name, ImmutableList<String> parts, Reason changed, boolean added) {
            this(name, parts, changed, added, ImmutableList.of());
        }

        public LaunchInput(String name, ImmutableList<String> parts, Reason changed) {
            this(name, parts, changed, false);
        }

        boolean isRecorded() {
            return !added || !parts.isEmpty();
        }

        private static String hash(ImmutableList<String> parts) {
            if (parts.isEmpty()) {
                return OF_NOTHING;
            }
            Hasher hasher = Hashing.sha256().newHasher();
            for (String part : parts) {
                hasher.putInt(part.length()).putString(part, StandardCharsets.UTF_8);
            }
            return hasher.hash().toString();
        }
    }

    /**
     * A file that is read at each launch.
     *
     * @param field that names it, such as {@code spec.envFiles}
     * @param path absolute
     */
    public record LaunchFile(String field, String path, FileContent.Use use) {
        /** Why it can't be used, for people, with what to do; empty when it can, or when it was not looked at. */
        Optional<String> problem(ImmutableMap<String, FileContent> seen) {
            return Optional.ofNullable(seen.get(path))
                    .flatMap(content -> content.problem(use))
                    .map(why -> field + " can't be read from " + path + ": " + why
                            + "; correct the file or the declaration");
        }
    }

    /**
     * The traits of a declaration.
     *
     * @throws IllegalArgumentException when nobody provides those of its kind
     */
    public static Traits of(Workload workload) {
        return of(workload.id().kind(), workload.spec());
    }

    /** Of what is declared so, whatever it is called. */
    public static Traits of(Kind kind, WorkloadSpec spec) {
        Traits known = KNOWN.getIfPresent(spec);
        if (known == null) {
            known = KindTraits.of(kind).traits(spec);
            KNOWN.put(spec, known);
        }
        return known;
    }

    /** The files that are read at each launch. */
    ImmutableList<LaunchFile> launchFiles() {
        ImmutableList.Builder<LaunchFile> files = ImmutableList.builder();
        // Asked several times in each plan; hardly any workload has some.
        for (LaunchInput input : inputs) {
            files.addAll(input.files());
        }
        return files.build();
    }

    /** Absolute paths of all files whose contents matter to it; what is at them is observed. */
    public ImmutableSet<String> files() {
        return Stream.concat(launchFiles().stream().map(LaunchFile::path), watched().stream())
                .collect(ImmutableSet.toImmutableSet());
    }

    /** Absolute paths of the files that a running instance is made to read again when their contents change. */
    public ImmutableSet<String> watched() {
        return reload == null ? ImmutableSet.of() : ImmutableSet.copyOf(reload.watch());
    }

    /** Of the config, with what of it can't be taken back. Empty when there is nothing that a running instance could be given. */
    public String configHash() {
        return Config.hash(config)
                + irrevocable.stream().map(part -> PLUS + part).collect(Collectors.joining());
    }

    /** What an instance can't be rid of that has been given a config, and that is no part of this one. */
    ImmutableSet<String> takenBackFrom(String configHash) {
        return Splitter.on(PLUS)
                .splitToStream(configHash)
                .skip(1)
                .filter(part -> !irrevocable.contains(part))
                .collect(ImmutableSet.toImmutableSet());
    }
}
