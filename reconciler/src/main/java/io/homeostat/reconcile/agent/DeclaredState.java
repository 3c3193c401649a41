package io.homeostat.reconcile.agent;

import com.google.common.collect.ImmutableSortedSet;
import com.google.common.collect.Sets;
import io.homeostat.desired.model.DesiredState;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.reconcile.loop.DesiredSource;
import java.util.Objects;

/** What is declared now: a copy of what is stored, so that no pass has to read a thousand documents to find its own. */
final class DeclaredState implements DesiredSource {
    private volatile DesiredState now = DesiredState.EMPTY;

    @Override
    public DesiredState now() {
        return now;
    }

    /** Replaces what passes go by; returns the workloads for which that makes a difference. */
    synchronized ImmutableSortedSet<WorkloadId> become(DesiredState next) {
        DesiredState before = now;
        now = next;
        return Sets.union(before.declarations().keySet(), next.declarations().keySet()).stream()
                .filter(id -> !before.policy().equals(next.policy())
                        || !Objects.equals(
                                before.declarations().get(id),
                                next.declarations().get(id)))
                .collect(ImmutableSortedSet.toImmutableSortedSet(WorkloadId::compareTo));
    }
}
