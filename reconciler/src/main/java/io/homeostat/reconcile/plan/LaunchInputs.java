package io.homeostat.reconcile.plan;

import com.google.common.base.Joiner;
import com.google.common.cache.CacheBuilder;
import com.google.common.cache.CacheLoader;
import com.google.common.cache.LoadingCache;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedMap;
import com.google.common.collect.Maps;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.desired.state.history.WorkloadHistory.LastKnownGood;
import io.homeostat.observe.files.FileContent;
import io.homeostat.reconcile.plan.Traits.LaunchFile;
import java.util.Comparator;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** What an instance can't change once it runs, as one hash each: which of them differ is the reason for a restart. */
public final class LaunchInputs {
    /** What it depended on, beside the hashes; changes without a restart, and is missing where there is nothing. */
    static final String DEPENDENCIES = "dependsOn";

    /** The parent's instance that it was launched in, beside the hashes; missing where there is no parent. */
    private static final String PARENT = "parent";

    /** Before the path of a file, beside the hashes: that of its content. */
    private static final String FILE = "file ";

    /** By identity: each look compares them several times. */
    private static final LoadingCache<Traits, ImmutableSortedMap<String, String>> HASHES =
            CacheBuilder.newBuilder().weakKeys().build(CacheLoader.from(LaunchInputs::hashes));

    private LaunchInputs() {}

    /** The hashes of a workload as it is declared. */
    public static ImmutableSortedMap<String, String> of(Workload workload) {
        return HASHES.getUnchecked(Traits.of(workload));
    }

    private static ImmutableSortedMap<String, String> hashes(Traits traits) {
        return traits.inputs().stream()
                .filter(Traits.LaunchInput::isRecorded)
                .collect(ImmutableSortedMap.toImmutableSortedMap(
                        Comparator.naturalOrder(), Traits.LaunchInput::name, Traits.LaunchInput::hash));
    }

    /** Why this instance is not what is declared; empty when it is. */
    public static Optional<Reason> difference(Instance instance, Workload wanted, @Nullable String directory) {
        return differences(instance, wanted, directory).stream().findFirst();
    }

    /** All in which this instance is not what is declared, the weightiest first. */
    static ImmutableList<Reason> differences(Instance instance, Workload wanted, @Nullable String directory) {
        ImmutableList.Builder<Reason> differences = ImmutableList.builder();
        if (Work.isOneShot(instance) != wanted.isOneShot()) {
            differences.add(Reason.EXECUTION_CHANGED);
        }
        return differences
                .addAll(differences(instance.revision(), instance.directory(), instance.inputs(), wanted, directory))
                .build();
    }

    /** All that a declaration changes of what was last seen well, the weightiest first. */
    static ImmutableList<Reason> differences(LastKnownGood good, Workload wanted, @Nullable String directory) {
        Workload old = good.workload();
        return differences(old.revision(), good.directory(), of(old), wanted, directory);
    }

    private static ImmutableList<Reason> differences(
            String revision,
            @Nullable String oldDirectory,
            Map<String, String> inputs,
            Workload wanted,
            @Nullable String directory) {
        ImmutableList.Builder<Reason> differences = ImmutableList.builder();
        if (!revision.equals(wanted.revision())) {
            // Another revision always has another directory.
            differences.add(Reason.REVISION_CHANGED);
        } else if (!Objects.equals(oldDirectory, directory)) {
            differences.add(Reason.CONTENT_CHANGED);
        }
        for (Traits.LaunchInput input : Traits.of(wanted).inputs()) {
            boolean differs = input.isRecorded()
                    ? !input.hash().equals(inputs.get(input.name()))
                    : inputs.containsKey(input.name());
            if (differs) {
                differences.add(input.changed());
            }
        }
        return differences.build();
    }

    /** Whether this instance was launched as this workload is declared, wherever it is installed and whatever its files held. */
    public static boolean matches(Instance instance, Workload workload) {
        return instance.revision().equals(workload.revision())
                && Maps.filterKeys(
                                instance.inputs(),
                                key -> !key.equals(DEPENDENCIES) && !key.equals(PARENT) && !key.startsWith(FILE))
                        .equals(of(workload));
    }

    /** The files that an instance was launched with, by path: lowercase hexadecimal SHA-256 of what they held. */
    public static ImmutableMap<String, String> files(Instance instance) {
        return instance.inputs().entrySet().stream()
                .filter(input -> input.getKey().startsWith(FILE))
                .collect(ImmutableMap.toImmutableMap(
                        input -> input.getKey().substring(FILE.length()), Map.Entry::getValue));
    }

    /** What is written down of the files that an instance is launched with. */
    static ImmutableMap<String, String> ofFiles(ImmutableMap<String, FileContent> read) {
        ImmutableMap.Builder<String, String> digests = ImmutableMap.builder();
        read.forEach((path, content) -> {
            if (content instanceof FileContent.Present present) {
                digests.put(FILE + path, present.sha256());
            }
        });
        return digests.buildOrThrow();
    }

    /**
     * The files that are there with another content than this instance was launched with. What can't be read is no other content.
     *
     * @param wanted for which it was launched, see {@link #matches}
     */
    static ImmutableList<LaunchFile> changedFiles(
            Instance instance, Workload wanted, ImmutableMap<String, FileContent> seen) {
        ImmutableList<LaunchFile> files = Traits.of(wanted).launchFiles();
        if (files.isEmpty()) {
            return files;
        }
        ImmutableMap<String, String> now = ofFiles(seen);
        return files.stream()
                .filter(file -> {
                    String content = now.get(FILE + file.path());
                    String before = instance.inputs().get(FILE + file.path());
                    return content != null && before != null && !content.equals(before);
                })
                .collect(ImmutableList.toImmutableList());
    }

    /** The parent's instance that an instance was launched in; null when there was none. */
    static @Nullable String parent(Instance instance) {
        return instance.inputs().get(PARENT);
    }

    /** The same, found among the remembered instances of what the workload depended on; empty when it is over, too. */
    public static Optional<Instance> parent(
            Instance instance, Function<WorkloadId, ImmutableList<Instance>> instances) {
        String parent = parent(instance);
        return DependencyGraph.neededAtLaunch(instance).stream()
                .flatMap(id -> instances.apply(id).stream())
                .filter(other -> other.launchId().equals(parent) && !other.isOver())
                .findFirst();
    }

    /**
     * What is written down of a launch: what can't change while it runs, what it depended on, and what it is part of.
     *
     * @param parent the parent's instance that it is launched in; null when there is none
     */
    public static ImmutableSortedMap<String, String> recorded(Workload workload, @Nullable String parent) {
        ImmutableSortedMap.Builder<String, String> inputs = ImmutableSortedMap.naturalOrder();
        inputs.putAll(of(workload));
        ImmutableSet<WorkloadId> needs = DependencyGraph.needs(workload);
        if (!needs.isEmpty()) {
            inputs.put(DEPENDENCIES, Joiner.on(',').join(needs));
        }
        if (parent != null) {
            inputs.put(PARENT, parent);
        }
        if (workload.isOneShot()) {
            inputs.put(Work.INPUT, Work.of(workload));
        }
        return inputs.buildOrThrow();
    }
}
