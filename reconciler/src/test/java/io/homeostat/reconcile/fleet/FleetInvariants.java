package io.homeostat.reconcile.fleet;

import com.google.common.collect.HashMultimap;
import com.google.common.collect.SetMultimap;
import io.homeostat.desired.fleet.Rollout;
import io.homeostat.desired.fleet.RolloutState;
import io.homeostat.desired.fleet.RolloutState.Phase;
import io.homeostat.desired.model.RolloutSpec;
import io.homeostat.desired.model.schema.Portion;
import io.homeostat.reconcile.fleet.FleetMirror.Scope;
import java.time.Duration;
import java.time.Instant;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;

/** What must hold of a simulated fleet, judged by what is in the store and what machines do, without the planner. */
final class FleetInvariants {
    private final Map<String, SimulatedMachine> machines;
    /** Which machines some decision has let in, by the rollout's digest. */
    private final SetMultimap<String, String> letIn = HashMultimap.create();

    /** The digests of rollouts that have let in everybody, whoever comes. */
    private final Set<String> open = new HashSet<>();

    private final Map<String, Instant> tooManyFailedSince = new HashMap<>();

    FleetInvariants(Map<String, SimulatedMachine> machines) {
        this.machines = machines;
    }

    /** A promise. */
    enum Invariant {
        /** Never more machines on the new revision than the open waves allow. */
        NO_MORE_THAN_OPEN,
        /** Nothing opens while failures exceed their bound. */
        NOTHING_OPENS_ON_FAILURES,
        /** Nothing opens while it is not known of a machine how it is, before its time is over. */
        NOTHING_OPENS_ON_SILENCE,
        /** What one has decided no other one undoes, but by an order or because machines have failed. */
        NOTHING_IS_UNDONE,
        /** Too many failures stop it within ten seconds, while anybody leads. */
        STOPS_PROMPTLY,
        /** When faults stop, every machine gets to what is declared. */
        CONVERGES
    }

    /** Something did not hold. An error, which no leader takes for a matter of one rollout. */
    static final class Violation extends AssertionError {
        private static final long serialVersionUID = 1L;

        final Invariant invariant;

        Violation(Invariant invariant, String what) {
            super(invariant + ": " + what);
            this.invariant = invariant;
        }
    }

    private static void check(boolean holds, Invariant invariant, Object... what) {
        if (!holds) {
            throw new Violation(invariant, List.of(what).toString());
        }
    }

    /** A state was written. */
    void decided(Scope scope, Optional<RolloutState> written, RolloutState after) {
        Rollout rollout = scope.rollout();
        Optional<RolloutState> before = written.filter(state -> state.digest().equals(after.digest()));
        before.ifPresent(state -> notUndone(rollout, state, after));
        machines.values().stream()
                .filter(machine -> scope.isFor().test(machine.labels)
                        && after.admits(rollout.place(machine.id), machine.registeredAt))
                .forEach(machine -> letIn.put(after.digest(), machine.id));
        if (after.through().equals(Rollout.EVERYBODY)) {
            open.add(after.digest());
        }
        if (!after.digest().equals(rollout.digest())) {
            return;
        }
        List<SimulatedMachine> members = machines.values().stream()
                .filter(machine -> scope.isFor().test(machine.labels))
                .toList();
        long admittedBefore =
                before.map(state -> count(members, admitted(rollout, state))).orElse(0L);
        long admittedAfter = count(members, admitted(rollout, after));
        if (admittedAfter <= admittedBefore) {
            return;
        }
        RolloutSpec spec = rollout.spec();
        Portion wave = spec.waves().get(after.wave());
        int allowed = after.wave() == spec.waves().size() - 1 ? members.size() : wave.ofRoundedUp(members.size());
        check(after.phase() == Phase.PROGRESSING, Invariant.NOTHING_IS_UNDONE, before, after);
        long haveIt = count(members, hasIt(rollout, after));
        check(haveIt <= allowed, Invariant.NO_MORE_THAN_OPEN, haveIt, allowed, before, after);
        before.ifPresent(state -> {
            long failed =
                    count(members, hasIt(rollout, state).and(machine -> FleetSimulation.saysFailed(machine, rollout)));
            long silent = count(members, admitted(rollout, state).and(machine -> machine.reported.isEmpty()));
            boolean isOverdue = !after.opened().isBefore(state.opened().plus(spec.timeout()));
            long mayFail = (long) spec.maxFailures().ofRoundedDown((int) count(members, hasIt(rollout, state)))
                    + after.forgiven();
            check(failed <= mayFail, Invariant.NOTHING_OPENS_ON_FAILURES, failed, mayFail, state, after);
            check(
                    silent == 0 || (isOverdue && silent <= mayFail),
                    Invariant.NOTHING_OPENS_ON_SILENCE,
                    silent,
                    mayFail,
                    state,
                    after);
        });
    }

    private static void notUndone(Rollout rollout, RolloutState before, RolloutState after) {
        boolean isOrdered = after.order() != before.order();
        boolean isRolledBack = after.phase() == Phase.ROLLED_BACK;
        boolean beginsAnew = before.phase() == Phase.ROLLED_BACK && isOrdered;
        if (before.phase() != Phase.PROGRESSING && before.phase() != after.phase()) {
            check(isOrdered, Invariant.NOTHING_IS_UNDONE, before, after);
        }
        boolean isLess = after.through().compareTo(before.through()) < 0 || after.asOf() < before.asOf();
        check(!isLess || isRolledBack || beginsAnew, Invariant.NOTHING_IS_UNDONE, before, after);
        check(
                after.wave() >= Math.min(before.wave(), rollout.spec().waves().size() - 1) || beginsAnew,
                Invariant.NOTHING_IS_UNDONE,
                before,
                after);
    }

    private static Predicate<SimulatedMachine> admitted(Rollout rollout, RolloutState state) {
        return machine -> state.admits(rollout, machine.id, machine.registeredAt);
    }

    /** Those whose turn it is, and those that have it already. */
    private static Predicate<SimulatedMachine> hasIt(Rollout rollout, RolloutState state) {
        return admitted(rollout, state).or(machine -> FleetSimulation.saysItHas(machine, rollout));
    }

    private static long count(Collection<SimulatedMachine> machines, Predicate<SimulatedMachine> what) {
        return machines.stream().filter(what).count();
    }

    /** A machine has begun to run a revision. */
    void runs(SimulatedMachine machine, Rollout rollout, String revision) {
        if (revision.equals(rollout.spec().to())) {
            check(
                    open.contains(rollout.digest())
                            || letIn.containsEntry(rollout.digest(), machine.id)
                            || machine.hadBefore(rollout),
                    Invariant.NO_MORE_THAN_OPEN,
                    machine.id,
                    "runs what nobody has let it in to",
                    rollout);
        }
    }

    /** Looks whether what has to be stopped goes on. */
    void stopsPromptly(
            List<Scope> published,
            Map<String, RolloutState> states,
            List<SimulatedController> controllers,
            Instant now,
            Duration prompt) {
        Optional<Instant> leads = controllers.stream()
                .flatMap(controller -> controller.leadsSince().stream())
                .min(Instant::compareTo);
        for (Scope scope : published) {
            Rollout rollout = scope.rollout();
            RolloutState state = states.get(rollout.name());
            if (leads.isEmpty()
                    || state == null
                    || state.phase() != Phase.PROGRESSING
                    || !state.digest().equals(rollout.digest())
                    || !tooManyFailed(scope, state)) {
                tooManyFailedSince.remove(rollout.name());
                continue;
            }
            Instant since = tooManyFailedSince.computeIfAbsent(rollout.name(), name -> now);
            Instant latest = since.isAfter(leads.get()) ? since : leads.get();
            check(!now.isAfter(latest.plus(prompt)), Invariant.STOPS_PROMPTLY, since, now, state);
        }
    }

    private boolean tooManyFailed(Scope scope, RolloutState state) {
        Rollout rollout = scope.rollout();
        Predicate<SimulatedMachine> hasIt =
                hasIt(rollout, state).and(machine -> scope.isFor().test(machine.labels));
        long failed = count(
                machines.values(), machine -> FleetSimulation.saysFailed(machine, rollout) && hasIt.test(machine));
        return failed > state.forgiven()
                && failed - state.forgiven()
                        > rollout.spec().maxFailures().ofRoundedDown((int) count(machines.values(), hasIt));
    }

    /** Faults have stopped long ago. */
    void ended(List<Scope> published, Map<String, RolloutState> states, Collection<SimulatedMachine> all) {
        for (Scope scope : published) {
            Rollout rollout = scope.rollout();
            List<SimulatedMachine> members = all.stream()
                    .filter(machine -> scope.isFor().test(machine.labels))
                    .toList();
            RolloutState state = states.get(rollout.name());
            if (members.isEmpty()) {
                continue;
            }
            check(
                    state != null
                            && state.digest().equals(rollout.digest())
                            && (state.phase() == Phase.COMPLETED || state.phase() == Phase.ROLLED_BACK),
                    Invariant.CONVERGES,
                    rollout,
                    String.valueOf(state));
            String revision = state != null && state.phase() == Phase.COMPLETED
                    ? rollout.spec().to()
                    : rollout.spec().from();
            members.forEach(machine -> check(
                    revision.equals(
                            machine.running.get(rollout.spec().workloads().getFirst())),
                    Invariant.CONVERGES,
                    machine.id,
                    machine.running,
                    revision));
        }
    }
}
