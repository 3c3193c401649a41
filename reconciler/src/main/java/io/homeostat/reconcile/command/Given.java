package io.homeostat.reconcile.command;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.StateStore.ToApply;

/**
 * What {@code -f} gave, read and found valid.
 *
 * @param origins the PATHs themselves, absolute; none when there was no {@code -f}
 * @param prune whether what an earlier apply of these PATHs declared goes when it is not among the documents
 */
public record Given(ImmutableList<ToApply> documents, ImmutableSet<String> origins, boolean prune) {
    public static final Given NOTHING = new Given(ImmutableList.of(), ImmutableSet.of(), false);

    boolean isNothing() {
        return origins.isEmpty();
    }

    ImmutableList<WorkloadId> ids() {
        return documents.stream().map(document -> document.workload().id()).collect(ImmutableList.toImmutableList());
    }
}
