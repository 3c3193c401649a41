package io.homeostat.reconcile.plan;

import com.google.common.base.Splitter;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.Dependencies;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.history.ProvenRevision;

/** What a workload depended on that nobody wants any more: its declaration is gone, and what still runs of it is to be stopped first. */
public final class FormerNeeds {
    /** Beside the hashes of {@link LaunchInputs}; changes without a restart, and is missing where there is nothing. */
    static final String INPUT = "dependsOn";

    private FormerNeeds() {}

    /** What is to be written down of a launch, so that it is known of what was never well, too. */
    static ImmutableMap<String, String> input(Workload workload) {
        ImmutableList<String> needed = workload.lifecycle().dependsOn();
        return needed.isEmpty() ? ImmutableMap.of() : ImmutableMap.of(INPUT, String.join(",", needed));
    }

    /** As its last good revision says; or as its process was launched, when that is another one, which was never well. */
    public static ImmutableSet<WorkloadId> of(Remembered neighbour) {
        ProvenRevision proven = neighbour.history().proven();
        ImmutableSet<WorkloadId> unproven = neighbour.instances().stream()
                .filter(instance -> proven == null || !LaunchInputs.matches(instance, proven.workload()))
                .flatMap(instance -> atLaunch(instance).stream())
                .collect(ImmutableSet.toImmutableSet());
        return proven == null || !unproven.isEmpty() ? unproven : Dependencies.of(proven.workload());
    }

    private static ImmutableList<WorkloadId> atLaunch(Instance instance) {
        return Splitter.on(',')
                .omitEmptyStrings()
                .splitToStream(instance.inputs().getOrDefault(INPUT, ""))
                .flatMap(text -> WorkloadId.parse(text).stream())
                .collect(ImmutableList.toImmutableList());
    }
}
