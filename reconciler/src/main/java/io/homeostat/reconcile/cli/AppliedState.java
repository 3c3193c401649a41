package io.homeostat.reconcile.cli;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.DesiredState;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.source.Precedence;
import io.homeostat.desired.store.AppliedDocument;
import io.homeostat.desired.store.StateStore.ToApply;
import io.homeostat.desired.yaml.DocumentCodec;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** What was applied, as the desired state; what would be after another apply, too. */
final class AppliedState {
    private AppliedState() {}

    static DesiredState of(ImmutableList<AppliedDocument> applied) {
        return Precedence.merge(
                applied.stream().map(AppliedState::declaration).collect(ImmutableList.toImmutableList()));
    }

    /** The desired state that {@link io.homeostat.desired.store.StateStore#apply} would leave behind. */
    static DesiredState after(
            ImmutableList<AppliedDocument> applied,
            ImmutableList<ToApply> documents,
            ImmutableSet<String> origins,
            boolean prune) {
        TreeMap<WorkloadId, AppliedDocument> result = new TreeMap<>();
        applied.forEach(document -> result.put(document.workload().id(), document));
        if (prune) {
            result.values().removeIf(document -> origins.contains(document.origin()));
        }
        TreeMap<WorkloadId, AppliedDocument> before = new TreeMap<>();
        applied.forEach(document -> before.put(document.workload().id(), document));
        for (ToApply document : documents) {
            WorkloadId id = document.workload().id();
            result.put(id, applied(document, before.get(id)));
        }
        return of(ImmutableList.copyOf(result.values()));
    }

    private static AppliedDocument applied(ToApply document, @Nullable AppliedDocument before) {
        String hash = DocumentCodec.hash(document.workload());
        long generation = before == null ? 1 : before.generation() + (hash.equals(before.hash()) ? 0 : 1);
        return new AppliedDocument(document.workload(), document.origin(), generation, hash);
    }

    private static Declaration declaration(AppliedDocument document) {
        return new Declaration(
                document.workload(), SourceName.APPLIED, document.generation(), document.hash(), ImmutableList.of());
    }
}
