package io.homeostat.reconcile.secrets;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Instance;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;

/**
 * The variables that programs were launched with, for masking them after the files that they are from were rotated or deleted. In memory
 * alone, as long as this process lives, and at most some MiB of them. For many threads.
 */
public final class LaunchedValues {
    /** What the log's end may still be of. */
    private static final int LAUNCHES = 3;

    private static final long MOST_CHARACTERS = 8L << 20;

    /** Beside its values, in characters. */
    private static final int OF_A_LAUNCH = 100;

    private final Cache<WorkloadId, ImmutableList<Launch>> launches = Caffeine.newBuilder()
            .maximumWeight(MOST_CHARACTERS)
            .weigher((WorkloadId id, ImmutableList<Launch> known) ->
                    known.stream().mapToInt(Launch::weight).sum())
            .build();

    /** @param secrets those of the values that are masked however short they are */
    private record Launch(String launchId, ImmutableList<String> values, ImmutableList<String> secrets) {
        int weight() {
            return OF_A_LAUNCH + values.stream().mapToInt(String::length).sum();
        }

        /** Without the values. */
        @Override
        public String toString() {
            return "Launch[" + launchId + "]";
        }
    }

    /**
     * Remembers what an instance is launched with.
     *
     * @param fromFiles the variables of which each has a file of its own
     */
    public void remember(Instance instance, Map<String, String> variables, Set<String> fromFiles) {
        Launch launch = new Launch(
                instance.launchId(),
                ImmutableList.copyOf(variables.values()),
                variables.entrySet().stream()
                        .filter(one -> fromFiles.contains(one.getKey()) || SecretForms.isName(one.getKey()))
                        .map(Map.Entry::getValue)
                        .collect(ImmutableList.toImmutableList()));
        launches.asMap()
                .merge(
                        instance.workload(),
                        ImmutableList.of(launch),
                        (known, added) -> Stream.concat(
                                        known.stream().skip(Math.max(0, known.size() - LAUNCHES + 1)), added.stream())
                                .collect(ImmutableList.toImmutableList()));
    }

    /** Whether it is remembered what this instance was launched with. */
    public boolean knows(Instance instance) {
        return of(instance.workload()).anyMatch(launch -> launch.launchId().equals(instance.launchId()));
    }

    /** Teaches the mask what the last instances of a workload were launched with. */
    public void learn(WorkloadId id, SecretMask mask) {
        of(id).forEach(launch -> {
            launch.values().forEach(value -> DeclaredSecrets.text(value, mask));
            launch.secrets().forEach(mask::learnNamed);
        });
    }

    private Stream<Launch> of(WorkloadId id) {
        ImmutableList<Launch> known = launches.getIfPresent(id);
        return known == null ? Stream.empty() : known.stream();
    }
}
