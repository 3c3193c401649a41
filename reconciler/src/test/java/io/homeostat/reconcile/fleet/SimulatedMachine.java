package io.homeostat.reconcile.fleet;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.fleet.MachineReport;
import io.homeostat.desired.fleet.MachineReport.ReportedWorkload;
import io.homeostat.desired.fleet.Rollout;
import io.homeostat.desired.fleet.RolloutState;
import io.homeostat.desired.fleet.RolloutState.Phase;
import io.homeostat.reconcile.fleet.FleetMirror.Scope;
import java.time.Instant;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** A machine of a simulated fleet: decides by what it knows last, as a real one, and does it after a while. */
final class SimulatedMachine {
    final String id;
    long registeredAt;
    ImmutableSortedMap<String, String> labels;
    /** What each workload runs at. */
    final Map<String, String> running = new HashMap<>();
    /** What was last reported, of each workload; empty while it is silent. */
    final Map<String, ReportedWorkload> reported = new HashMap<>();

    boolean isCutOff;
    boolean isAwake;
    boolean isLying;
    private ImmutableList<Scope> known = ImmutableList.of();
    /** What each workload is to be at. */
    private final Map<String, String> inForce = new HashMap<>();
    /** The digests of rollouts whose new revision it had already when it heard of them. */
    private final Set<String> hadBefore = new HashSet<>();

    SimulatedMachine(String id, long registeredAt, ImmutableSortedMap<String, String> labels) {
        this.id = id;
        this.registeredAt = registeredAt;
        this.labels = labels;
    }

    /** It is at once another one by its labels: what is not for it any more is gone. */
    void getsLabels(ImmutableSortedMap<String, String> next, long revision) {
        labels = next;
        registeredAt = revision;
    }

    /** What becomes of a revision here. */
    enum Fate {
        WELL,
        FAILS,
        RESTARTS,
        IS_ILL
    }

    /** Hears what is published and decided. */
    void hear(ImmutableList<Scope> published, Map<String, RolloutState> decided) {
        for (Scope scope : published) {
            Rollout rollout = scope.rollout();
            String workload = rollout.spec().workloads().getFirst();
            if (!scope.isFor().test(labels)) {
                inForce.remove(workload);
                running.remove(workload);
                continue;
            }
            String before = inForce.get(workload);
            if (rollout.spec().to().equals(before) && !knows(rollout)) {
                hadBefore.add(rollout.digest());
            }
            boolean isIn = isIn(rollout, decided.get(rollout.name()), before);
            inForce.put(workload, isIn ? rollout.spec().to() : rollout.spec().from());
        }
        known = published;
    }

    private boolean knows(Rollout rollout) {
        return known.stream().anyMatch(scope -> scope.rollout().digest().equals(rollout.digest()));
    }

    /** Whether nobody need have let it in to the new revision. */
    boolean hadBefore(Rollout rollout) {
        return hadBefore.contains(rollout.digest());
    }

    /** As {@code SetSelection} has it. */
    private boolean isIn(Rollout rollout, @Nullable RolloutState state, @Nullable String before) {
        boolean hasIt = rollout.spec().to().equals(before);
        return state == null || !state.digest().equals(rollout.digest())
                ? hasIt
                : state.phase() != Phase.ROLLED_BACK
                        && (hasIt || (state.letsIn() && state.admits(rollout, id, registeredAt)));
    }

    ImmutableList<Scope> known() {
        return known;
    }

    /** What a rollout says a workload of it is to be here; empty when it is not for this machine. */
    Optional<String> desired(Scope scope) {
        return scope.isFor().test(labels)
                ? Optional.ofNullable(
                        inForce.get(scope.rollout().spec().workloads().getFirst()))
                : Optional.empty();
    }

    /** What it says of itself now. */
    MachineReport report(Map<String, Fate> fates, Instant at) {
        reported.clear();
        for (Scope scope : known) {
            Optional<String> desired = desired(scope);
            for (String workload : scope.rollout().spec().workloads()) {
                desired.ifPresent(revision -> reported.put(workload, said(scope, workload, revision, fates)));
            }
        }
        return new MachineReport("1", at, "etcd", "1", 1, 0, ImmutableList.copyOf(reported.values()));
    }

    private ReportedWorkload said(Scope scope, String workload, String desired, Map<String, Fate> fates) {
        @Nullable String revision = running.get(workload);
        boolean isNew = desired.equals(scope.rollout().spec().to());
        Fate fate = isNew ? fates.getOrDefault(desired, Fate.WELL) : Fate.WELL;
        if (isLying) {
            fate = fate == Fate.WELL ? Fate.FAILS : Fate.WELL;
            revision = desired;
        }
        boolean isThere = desired.equals(revision) && fate != Fate.FAILS;
        return new ReportedWorkload(
                workload,
                isThere ? desired : scope.rollout().spec().from(),
                desired,
                isNew && fate == Fate.FAILS ? desired : "",
                "Running",
                isThere,
                isThere && fate != Fate.IS_ILL,
                false,
                false,
                isThere && fate == Fate.RESTARTS ? 1 : 0,
                isNew && fate == Fate.FAILS ? "exited with 1" : "");
    }
}
