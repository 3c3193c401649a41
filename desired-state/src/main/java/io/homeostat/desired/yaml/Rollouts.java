package io.homeostat.desired.yaml;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableListMultimap;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.Multimaps;
import io.homeostat.desired.model.Placement;
import io.homeostat.desired.model.RolloutSpec;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.yaml.Choice.ReadRollout;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The rollouts among documents, and what they ask of the others. */
final class Rollouts {
    private final Map<String, Problem> names = new HashMap<>();
    private final Map<WorkloadId, ReadRollout> byWorkload = new HashMap<>();
    private final List<Problem> errors = new ArrayList<>();
    private final boolean complete;

    /** A rollout, and where it is named; the message of that is not used. */
    record Found(ReadRollout read, Problem place) {}

    /**
     * @param workloads all that are declared, for whatever machine
     * @param complete whether all that may declare one could be read: what is missing else may be in what could not, where that is said
     */
    Rollouts(List<Found> rollouts, List<Workload> workloads, boolean complete) {
        this.complete = complete;
        ImmutableListMultimap<WorkloadId, Workload> declared = Multimaps.index(workloads, Workload::id);
        for (Found rollout : rollouts) {
            Problem other = names.putIfAbsent(rollout.read().name(), rollout.place());
            if (other != null) {
                error(rollout, "the rollout is declared twice, first at " + other.place() + "; remove or rename one");
            } else {
                workloads(rollout, declared);
            }
        }
    }

    @Nullable
    ReadRollout of(WorkloadId id) {
        return byWorkload.get(id);
    }

    ImmutableList<Problem> errors() {
        return ImmutableList.copyOf(errors);
    }

    private void workloads(Found rollout, ImmutableListMultimap<WorkloadId, Workload> declared) {
        RolloutSpec spec = rollout.read().spec();
        for (String word : spec.workloads()) {
            WorkloadId id = WorkloadId.parse(word).orElseThrow();
            ReadRollout other = byWorkload.putIfAbsent(id, rollout.read());
            if (other != null) {
                error(rollout, id + " is in the rollout " + other.name() + ", too; take it out of one of them");
                continue;
            }
            Set<Placement> from = placements(declared.get(id), spec.from());
            Set<Placement> to = placements(declared.get(id), spec.to());
            Stream.of(spec.from(), spec.to())
                    .filter(revision ->
                            complete && placements(declared.get(id), revision).isEmpty())
                    .forEach(revision -> error(
                            rollout,
                            "no document declares " + id + " at revision '" + revision
                                    + "'; both revisions have to be in the set"));
            declared.get(id).stream()
                    .filter(workload -> !spec.hasRevision(workload.revision()))
                    .forEach(workload -> error(
                            rollout,
                            id + " is declared at revision '" + Binder.shown(workload.revision())
                                    + "', too, which is neither 'from' nor 'to'; take that document out"));
            if (!from.isEmpty() && !to.isEmpty() && !from.equals(to)) {
                error(
                        rollout,
                        "the placement of " + id + " is another one at revision '" + spec.from() + "' than at '"
                                + spec.to() + "'; machines would lose it, so give both the same");
            }
        }
    }

    private static Set<Placement> placements(ImmutableList<Workload> declared, String revision) {
        return declared.stream()
                .filter(workload -> workload.revision().equals(revision))
                .map(Workload::placement)
                .collect(ImmutableSet.toImmutableSet());
    }

    private void error(Found rollout, String message) {
        Problem at = rollout.place();
        errors.add(new Problem(Problem.Kind.VALUE, at.file(), at.line(), at.column(), message));
    }
}
