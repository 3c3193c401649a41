package io.homeostat.reconcile.sim;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.history.Condition;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.desired.state.history.WorkloadHistory.LastKnownGood;
import io.homeostat.observe.files.FileContent;
import io.homeostat.observe.health.Health;
import io.homeostat.observe.limits.LimitObserver;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.plan.Traits;
import java.time.Duration;
import java.util.List;
import java.util.Objects;

/** What must be true of a machine on which nothing goes wrong any more. */
final class ConvergenceChecks {
    private static final long LAUNCHES_AN_HOUR = 60;
    private static final int LONGEST_TRIAL_SECONDS = 300;

    private final VirtualClock clock;
    private final Declarations desired;
    private final FakeMachine machine;
    private final Loop loop;
    private final Achievability prospects;
    private final DryRunCheck rehearsal;

    ConvergenceChecks(VirtualClock clock, Declarations desired, FakeMachine machine, Loop loop) {
        this.clock = clock;
        this.desired = desired;
        this.machine = machine;
        this.loop = loop;
        this.prospects = new Achievability(desired, machine);
        this.rehearsal = new DryRunCheck(clock, desired, machine, loop);
    }

    void requireConverged(WorkloadId id) {
        for (int i = 0; i < LONGEST_TRIAL_SECONDS && rehearsal.isUnderWay(id); i++) {
            // A failed upgrade is tried again now and then.
            loop.run(Duration.ofSeconds(1).toMillis());
        }
        Declaration declared = desired.declaration(id).orElse(null);
        Invariant.STRONGEST_SOURCE_WINS.require(
                desired.strongest(id)
                        .map(ConvergenceChecks::words)
                        .equals(desired.declaration(id).map(ConvergenceChecks::words)),
                () -> id + ": " + declared + " wins over " + desired.strongest(id));
        List<FakeProcess> living = machine.living(id);
        Invariant.NOTHING_IS_LEFT_OF_WHAT_ENDED.require(
                machine.store.wasLost()
                        || machine.processes.remains.entrySet().stream()
                                .filter(left -> left.getValue().equals(id))
                                .allMatch(left -> machine.store.instances(id).stream()
                                        .anyMatch(instance -> !instance.isOver()
                                                && instance.launchId().equals(left.getKey()))),
                () -> "left of " + id + ": " + machine.processes.remains);
        if (declared == null) {
            if (machine.store.wasLost() && !machine.store.history(id).isOfSomethingDeclared()) {
                // Whose it is has been forgotten; it waits until somebody says.
                return;
            }
            Invariant.CONVERGES.require(
                    machine.processes.present(id).isEmpty(), () -> id + " is withdrawn but runs: " + living);
            Invariant.CONVERGES.require(
                    !machine.disk.hasTraceOf(id), () -> id + " is withdrawn but something of it is left on disk");
            Invariant.CONVERGES.require(
                    machine.store.history(id).equals(WorkloadHistory.NONE)
                            && machine.store.instances(id).isEmpty(),
                    () -> id + " is withdrawn but remembered: " + machine.store.history(id));
            return;
        }
        Invariant.GENERATION_IS_SAID.require(
                machine.store.history(id).observedGeneration() == declared.generation(),
                () -> id + ": " + machine.store.history(id).observedGeneration() + " is said to be in force instead of "
                        + declared);
        Invariant.NEVER_TWO.require(machine.processes.present(id).size() <= 1, () -> "more than one: " + living);
        if (prospects.isDisabled(declared)) {
            requireRests(id);
        } else if (!prospects.hasWhatItNeeds(declared)) {
            // It waits for what may never come.
            return;
        } else if (OneShotChecks.isOneShot(declared)) {
            new OneShotChecks(clock, machine).requireRan(id, declared);
        } else if (prospects.is(Condition.Type.GIVEN_UP, id)) {
            requireToldToGiveUp(id, declared);
        } else if (!prospects.mayGoDown(declared)) {
            requireRepaired(id, living);
        } else if (prospects.isRolledBack(declared)) {
            requireRolledBack(id, living);
        } else if (machine.completes(declared.workload()) || completedBefore(id, declared)) {
            requireCompleted(id, living);
            requireNothingToDo(id);
        } else if (machine.works(declared.workload())) {
            requireRuns(id, declared, living);
            requireNothingToDo(id);
        } else {
            requireTheBestOf(id, declared, living);
        }
    }

    private void requireNothingToDo(WorkloadId id) {
        ImmutableList<Step> plan = rehearsal.planOf(id);
        Invariant.PLAN_OF_CONVERGED_IS_EMPTY.require(plan.isEmpty(), () -> id + ": " + plan);
        Invariant.CONVERGED_IS_SAID.require(
                prospects.is(Condition.Type.CONVERGED, id),
                () -> id + ": " + machine.store.history(id).conditions());
    }

    /** Of what ends by itself, and is launched again only after a failure. */
    private void requireCompleted(WorkloadId id, List<FakeProcess> living) {
        Invariant.CONVERGES.require(
                machine.processes.present(id).isEmpty()
                        && machine.store.instances(id).isEmpty(),
                () -> id + " completes and then rests, and there is " + living);
        Invariant.THE_COMPLETED_REST.require(
                machine.processes.launches(id).stream()
                        .anyMatch(process -> process.isDone() && process.bootId.equals(machine.processes.bootId())),
                () -> id + " rests and has not completed: " + machine.processes.launches(id));
        Invariant.CONVERGED_IS_SAID.require(
                prospects.is(Condition.Type.HEALTHY, id),
                () -> id + ": " + machine.store.history(id).conditions());
    }

    /** It may have been done before something that it needs was spoilt. */
    private boolean completedBefore(WorkloadId id, Declaration declared) {
        return FakeMachine.mayComplete(declared.workload())
                && Behaviour.of(declared.workload().revision()) == Behaviour.COMPLETES
                && prospects.is(Condition.Type.CONVERGED, id);
    }

    /** Of what its rules disable. */
    private void requireRests(WorkloadId id) {
        Invariant.CONVERGES.require(
                machine.processes.present(id).isEmpty(), () -> id + " is disabled but runs: " + machine.living(id));
        requireNothingToDo(id);
    }

    /** Of what may not be changed, because others stay down. */
    private void requireRepaired(WorkloadId id, List<FakeProcess> living) {
        LastKnownGood lastKnownGood = machine.store.history(id).lastKnownGood();
        if (lastKnownGood == null || !mayRun(id, lastKnownGood)) {
            return;
        }
        Invariant.REPAIRS_WAIT_FOR_NOBODY.require(
                living.size() == 1
                        && living.get(0).lost.isEmpty()
                        && living.get(0).feels == Health.Verdict.HEALTHY
                        && machine.disk.isWhole(id, living.get(0).launched.directory()),
                () -> id + " is not repaired: " + living);
    }

    /** Of what somebody has had undone, until he wants it back. */
    private void requireRolledBack(WorkloadId id, List<FakeProcess> living) {
        Invariant.CONVERGED_IS_SAID.require(
                !prospects.is(Condition.Type.CONVERGED, id) && prospects.is(Condition.Type.ROLLED_BACK, id),
                () -> id + ": " + machine.store.history(id).conditions());
        requireLastGood(id, living);
    }

    private static String words(Declaration declaration) {
        return declaration.source() + " " + declaration.generation() + " " + declaration.hash();
    }

    private void requireToldToGiveUp(WorkloadId id, Declaration declared) {
        LastKnownGood lastKnownGood = machine.store.history(id).lastKnownGood();
        boolean told = declared.workload().lifecycle().restart().giveUpAfter() > 0
                || (lastKnownGood != null
                        && lastKnownGood.workload().lifecycle().restart().giveUpAfter() > 0);
        Invariant.GIVES_UP_ONLY_WHEN_TOLD.require(told, () -> id + " is given up");
    }

    private void requireRuns(WorkloadId id, Declaration declared, List<FakeProcess> living) {
        Invariant.CONVERGES.require(living.size() == 1, () -> id + " does not run");
        FakeProcess process = living.get(0);
        Invariant.CONVERGES.require(
                process.launched.revision().equals(declared.workload().revision()),
                () -> id + " runs at a wrong revision: " + process);
        Invariant.CONVERGES.require(
                FakeProcess.isLaunchedAs(declared.workload(), process.launched),
                () -> id + " runs with wrong arguments: " + process);
        Invariant.CONVERGES.require(
                machine.disk.files(Traits.of(declared.workload()).files()).values().stream()
                        .allMatch(content -> content instanceof FileContent.Present present
                                && present.sha256().equals(FakeProcess.file(process.launched))),
                () -> id + " runs with what a file held before: " + process);
        Invariant.CONVERGES.require(
                LimitObserver.agree(declared.workload().lifecycle().limits(), process.limits),
                () -> id + " runs with wrong limits: " + process.limits);
        Invariant.CONVERGES.require(
                process.lost.isEmpty() && machine.disk.isWhole(id, process.launched.directory()),
                () -> id + " runs without " + process.lost + " or from damaged files: " + process);
        if (Kinds.isGivenAnew(declared.workload())) {
            Invariant.CONVERGES.require(
                    Traits.of(declared.workload()).configHash().equals(process.configHash),
                    () -> id + " runs with a wrong configuration: " + process);
            Invariant.CONVERGES.require(
                    !process.deviates, () -> id + " runs with what somebody has changed: " + process);
            Invariant.CONVERGES.require(
                    process.feels == Health.Verdict.HEALTHY, () -> id + " runs and is not well: " + process);
        }
        // A parent that runs to its end has no instance after that.
        Traits.of(declared.workload())
                .parent()
                .filter(_ -> Traits.of(declared.workload()).recreatedWithParent())
                .filter(parent -> desired.declaration(parent)
                        .filter(above -> OneShotChecks.isOneShot(above) || machine.completes(above.workload()))
                        .isEmpty())
                .ifPresent(parent -> Invariant.PARTS_GO_WITH_THEIR_PARENT.require(
                        machine.living(parent).stream()
                                .map(instance -> instance.launched.launchId())
                                .anyMatch(FakeProcess.parent(process.launched)::equals),
                        () -> process + " was launched in " + FakeProcess.parent(process.launched) + ", there is "
                                + machine.living(parent)));
        List<Instance> instances = machine.store.instances(id);
        Invariant.NOTHING_ALIVE_IS_FORGOTTEN.require(
                instances.size() == 1
                        && process.identity != null
                        && Objects.equals(process.named(), instances.get(0).identity()),
                () -> id + " runs as " + process + ", remembered is " + instances);
    }

    /** Of a declaration that can't be brought about. */
    private void requireTheBestOf(WorkloadId id, Declaration declared, List<FakeProcess> living) {
        Behaviour behaviour = machine.behaviour(declared.workload());
        if (behaviour == Behaviour.CRASHES || behaviour == Behaviour.COMPLETES) {
            // It runs, or pauses before it runs again.
            return;
        }
        if (behaviour == Behaviour.APPLY_ERROR) {
            Invariant.CONVERGES.require(
                    living.size() == 1
                            && living.get(0)
                                    .launched
                                    .revision()
                                    .equals(declared.workload().revision()),
                    () -> id + " is harmed by a configuration that it refuses: " + living);
            return;
        }
        Invariant.CONVERGED_IS_SAID.require(
                !prospects.is(Condition.Type.CONVERGED, id),
                () -> id + " can't be at " + declared.workload().revision());
        Invariant.ROLLBACK_IS_SHOWN.require(
                !requireLastGood(id, living)
                        || behaviour == Behaviour.UNFETCHABLE
                        || prospects.is(Condition.Type.ROLLED_BACK, id),
                () -> id + ": " + machine.store.history(id).conditions());
    }

    /** Whether there is one that may run. */
    private boolean requireLastGood(WorkloadId id, List<FakeProcess> living) {
        LastKnownGood lastKnownGood = machine.store.history(id).lastKnownGood();
        if (lastKnownGood == null || !mayRun(id, lastKnownGood)) {
            return false;
        }
        Invariant.LAST_GOOD_KEPT.require(
                living.size() == 1
                        && living.get(0)
                                .launched
                                .revision()
                                .equals(lastKnownGood.workload().revision())
                        && living.get(0).feels == Health.Verdict.HEALTHY,
                () -> id + ": " + lastKnownGood.workload().revision() + " should run and be well, there is " + living);
        return true;
    }

    private boolean mayRun(WorkloadId id, LastKnownGood lastKnownGood) {
        return machine.works(lastKnownGood.workload())
                && !machine.completes(lastKnownGood.workload())
                && !isGivenUp(id, lastKnownGood)
                && prospects.hasItsParent(lastKnownGood.workload());
    }

    /** It has ended too often, if by reboots. */
    private boolean isGivenUp(WorkloadId id, LastKnownGood lastKnownGood) {
        int allowed = lastKnownGood.workload().lifecycle().restart().giveUpAfter();
        return allowed > 0 && machine.store.history(id).run().crashes().count() > allowed;
    }

    void requirePacing(int launches, Duration within) {
        long bound = LAUNCHES_AN_HOUR * Scenario.IDS.size() * within.toHours();
        Invariant.RESTARTS_ARE_PACED.require(launches <= bound, () -> launches + " launches in " + within);
    }

    /** What has been well for long and dies is there again at once. */
    void requireRestartAtOnce() {
        // Long enough for crashes to be forgotten.
        loop.resync(Duration.ofMinutes(11));
        loop.run(Duration.ofMinutes(35).toMillis());
        ImmutableList<WorkloadId> killed = Scenario.IDS.stream()
                .filter(id ->
                        desired.declaration(id).filter(this::comesBackAtOnce).isPresent())
                .collect(ImmutableList.toImmutableList());
        // All at once: whatever waited for another would wait for long.
        for (WorkloadId id : killed) {
            machine.kill(id, 0);
            loop.hint(id);
        }
        loop.run(1000);
        for (WorkloadId id : killed) {
            Invariant.RESTARTS_AT_ONCE.require(
                    machine.living(id).size() == 1, () -> id + " was killed and is not back after a second");
        }
    }

    private boolean comesBackAtOnce(Declaration declared) {
        // What runs may still be the last good revision, while the new one has to wait.
        return machine.living(declared.id()).stream().anyMatch(process -> process.behaviour == Behaviour.GOOD)
                && machine.works(declared.workload())
                && declared.workload().lifecycle().dependsOn().isEmpty()
                && Traits.of(declared.workload()).parent().isEmpty()
                && !prospects.isDisabled(declared)
                // What it was rolled back to may be part of something that is gone.
                && !prospects.isRolledBack(declared)
                && !prospects.is(Condition.Type.GIVEN_UP, declared.id());
    }
}
