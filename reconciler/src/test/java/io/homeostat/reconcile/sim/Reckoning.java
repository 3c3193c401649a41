package io.homeostat.reconcile.sim;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedMap;
import com.google.common.collect.Maps;
import io.homeostat.desired.model.ConfigHash;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.DesiredState;
import io.homeostat.desired.model.PluginSpec;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.store.Condition;
import io.homeostat.desired.store.Handle;
import io.homeostat.desired.store.Pause;
import io.homeostat.desired.store.ProvenRevision;
import io.homeostat.desired.store.WorkloadHistory;
import io.homeostat.observe.ActualState;
import io.homeostat.observe.Health;
import io.homeostat.observe.LimitObserver;
import io.homeostat.observe.ObservedWorkload;
import io.homeostat.reconcile.loop.Next;
import io.homeostat.reconcile.plan.Bookkeeping;
import io.homeostat.reconcile.plan.Company;
import io.homeostat.reconcile.plan.History;
import io.homeostat.reconcile.plan.LaunchInputs;
import io.homeostat.reconcile.plan.Plan;
import io.homeostat.reconcile.plan.Planner;
import io.homeostat.reconcile.plan.Situation;
import io.homeostat.reconcile.plan.Step;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.stream.Stream;

/** What must be true of a machine on which nothing goes wrong any more. */
final class Reckoning {
    private static final long LAUNCHES_AN_HOUR = 60;
    private static final int LONGEST_TRIAL_SECONDS = 300;

    private final VirtualClock clock;
    private final Declarations desired;
    private final FakeMachine machine;
    private final Loop loop;

    Reckoning(VirtualClock clock, Declarations desired, FakeMachine machine, Loop loop) {
        this.clock = clock;
        this.desired = desired;
        this.machine = machine;
        this.loop = loop;
    }

    void requireConverged(WorkloadId id) {
        for (int i = 0; i < LONGEST_TRIAL_SECONDS && underWay(id); i++) {
            // A failed upgrade is tried again now and then.
            loop.run(Duration.ofSeconds(1).toMillis());
        }
        Declaration declared = desired.declaration(id).orElse(null);
        Invariant.STRONGEST_SOURCE_WINS.require(
                desired.strongest(id)
                        .map(Reckoning::words)
                        .equals(desired.declaration(id).map(Reckoning::words)),
                () -> id + ": " + declared + " wins over " + desired.strongest(id));
        List<FakeProcess> living = machine.living(id);
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
                            && machine.store.handles(id).isEmpty(),
                    () -> id + " is withdrawn but remembered: " + machine.store.history(id));
            return;
        }
        Invariant.GENERATION_IS_SAID.require(
                machine.store.history(id).observedGeneration() == declared.generation(),
                () -> id + ": " + machine.store.history(id).observedGeneration() + " is said to be in force instead of "
                        + declared);
        Invariant.NEVER_TWO.require(machine.processes.present(id).size() <= 1, () -> "more than one: " + living);
        if (OneShotReckoning.isOneShot(declared)) {
            new OneShotReckoning(clock, machine).requireRan(id, declared);
        } else if (is(Condition.Type.GIVEN_UP, id)) {
            requireToldToGiveUp(id, declared);
        } else if (machine.works(declared.workload())) {
            requireRuns(id, declared, living);
            Plan plan = planOf(id);
            Invariant.PLAN_OF_CONVERGED_IS_EMPTY.require(plan.isEmpty(), () -> id + ": " + plan);
            Invariant.CONVERGED_IS_SAID.require(
                    is(Condition.Type.CONVERGED, id),
                    () -> id + ": " + machine.store.history(id).conditions());
        } else {
            requireTheBestOf(id, declared, living);
        }
    }

    private static String words(Declaration declaration) {
        return declaration.source() + " " + declaration.generation() + " " + declaration.hash();
    }

    private void requireToldToGiveUp(WorkloadId id, Declaration declared) {
        ProvenRevision proven = machine.store.history(id).proven();
        boolean told = declared.workload().program().restart().giveUpAfter() > 0
                || (proven != null && proven.workload().program().restart().giveUpAfter() > 0);
        Invariant.GIVES_UP_ONLY_WHEN_TOLD.require(told, () -> id + " is given up");
    }

    private void requireRuns(WorkloadId id, Declaration declared, List<FakeProcess> living) {
        Invariant.CONVERGES.require(living.size() == 1, () -> id + " does not run");
        FakeProcess process = living.get(0);
        Invariant.CONVERGES.require(
                process.launched.revision().equals(declared.workload().revision()),
                () -> id + " runs at a wrong revision: " + process);
        Invariant.CONVERGES.require(
                process.launched
                        .inputs()
                        .equals(LaunchInputs.of(declared.workload().program())),
                () -> id + " runs with wrong arguments: " + process);
        Invariant.CONVERGES.require(
                LimitObserver.agree(declared.workload().program().limits(), process.limits),
                () -> id + " runs with wrong limits: " + process.limits);
        Invariant.CONVERGES.require(
                process.lost.isEmpty() && machine.disk.isWhole(id, process.launched.directory()),
                () -> id + " runs without " + process.lost + " or from damaged files: " + process);
        if (declared.workload().spec() instanceof PluginSpec plugin) {
            Invariant.CONVERGES.require(
                    ConfigHash.of(plugin.config()).equals(process.configHash),
                    () -> id + " runs with a wrong configuration: " + process);
            Invariant.CONVERGES.require(
                    process.feels == Health.Verdict.HEALTHY, () -> id + " runs and is not well: " + process);
        }
        List<Handle> handles = machine.store.handles(id);
        Invariant.NOTHING_ALIVE_IS_FORGOTTEN.require(
                handles.size() == 1
                        && process.identity != null
                        && process.identity.equals(handles.get(0).identity()),
                () -> id + " runs as " + process + ", remembered is " + handles);
    }

    /** Of a declaration that can't be brought about. */
    private void requireTheBestOf(WorkloadId id, Declaration declared, List<FakeProcess> living) {
        Behaviour behaviour = machine.behaviour(declared.workload());
        if (behaviour == Behaviour.CRASHES) {
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
                !is(Condition.Type.CONVERGED, id),
                () -> id + " can't be at " + declared.workload().revision());
        ProvenRevision proven = machine.store.history(id).proven();
        if (proven == null || !machine.works(proven.workload())) {
            return;
        }
        Invariant.LAST_GOOD_KEPT.require(
                living.size() == 1
                        && living.get(0)
                                .launched
                                .revision()
                                .equals(proven.workload().revision())
                        && living.get(0).feels == Health.Verdict.HEALTHY,
                () -> id + ": " + proven.workload().revision() + " should run and be well, there is " + living);
        Invariant.ROLLBACK_IS_SHOWN.require(
                behaviour == Behaviour.UNFETCHABLE || is(Condition.Type.ROLLED_BACK, id),
                () -> id + ": " + machine.store.history(id).conditions());
    }

    private boolean is(Condition.Type type, WorkloadId id) {
        return machine.store.history(id).conditions().stream()
                .anyMatch(condition -> condition.type() == type && condition.status() == Condition.Status.TRUE);
    }

    void requirePacing(int launches, Duration within) {
        long bound = LAUNCHES_AN_HOUR * Fate.IDS.size() * within.toHours();
        Invariant.RESTARTS_ARE_PACED.require(launches <= bound, () -> launches + " launches in " + within);
    }

    /** What a dry run foretells is what is then done. */
    void requireDryRunForetells(long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        loop.resync(Duration.ofSeconds(30));
        for (WorkloadId id : Fate.IDS) {
            if (!rests(id)) {
                continue;
            }
            machine.executor.drainExecuted();
            if (random.nextInt(100) < 25) {
                desired.withdraw(id);
            } else {
                String revision = "GOOD-" + random.nextInt(4);
                boolean works = machine.disk.behaviour(id, revision).isGood();
                desired.declare(
                        SourceName.CONTROL_PLANE,
                        id,
                        Wish.of(works ? revision : "GOOD-fresh", ImmutableList.of(), "config0"));
            }
            int commits = machine.store.commits();
            List<String> foretold = planOf(id).workloads().stream()
                    .flatMap(plan -> plan.steps().stream())
                    .filter(step -> !(step instanceof Step.Wait))
                    .map(Step::word)
                    .toList();
            Invariant.DRY_RUN_TOUCHES_NOTHING.require(
                    machine.store.commits() == commits
                            && machine.executor.drainExecuted().isEmpty(),
                    () -> id + " was planned, and something was done");
            loop.hint(id);
            loop.run(Duration.ofMinutes(2).toMillis());
            List<String> done = machine.executor.drainExecuted().stream()
                    .filter(step -> step.workload().equals(id))
                    .map(Step::word)
                    .toList();
            Invariant.DRY_RUN_FORETELLS.require(
                    foretold.equals(done), () -> id + ": foretold " + foretold + ", done " + done);
        }
    }

    /** Whether nothing is under way and nothing of it will happen that nobody could foretell. */
    private boolean rests(WorkloadId id) {
        ProvenRevision proven = machine.store.history(id).proven();
        Declaration declared = desired.declaration(id).orElse(null);
        boolean endsByItself = Stream.of(
                        declared == null ? null : declared.workload(), proven == null ? null : proven.workload())
                .filter(Objects::nonNull)
                .anyMatch(workload -> machine.disk
                                .behaviour(workload.id(), workload.revision())
                                .livesFor()
                        != Long.MAX_VALUE);
        boolean runs = machine.living(id).size() == 1;
        return !endsByItself && !underWay(id) && (declared == null || runs);
    }

    private boolean underWay(WorkloadId id) {
        return loop.last(id) instanceof Next.Again
                || (loop.last(id) instanceof Next.Later later && later.until().kind() == Step.Wait.Kind.PROGRESS);
    }

    /** What has been well for long and dies is there again at once. */
    void requireRestartAtOnce() {
        // Long enough for crashes to be forgotten.
        loop.resync(Duration.ofMinutes(11));
        loop.run(Duration.ofMinutes(35).toMillis());
        for (WorkloadId id : Fate.IDS) {
            boolean works = desired.declaration(id)
                    .filter(declared -> Behaviour.of(declared.workload().revision()) == Behaviour.GOOD)
                    .filter(declared -> machine.works(declared.workload()))
                    .isPresent();
            if (!works || is(Condition.Type.GIVEN_UP, id)) {
                continue;
            }
            machine.kill(id, 0);
            loop.hint(id);
            loop.run(1000);
            Invariant.RESTARTS_AT_ONCE.require(
                    machine.living(id).size() == 1, () -> id + " was killed and is not back after a second");
        }
    }

    private Plan planOf(WorkloadId id) {
        Declaration declared = desired.declaration(id).orElse(null);
        ObservedWorkload seen = machine.observer.look(
                id, machine.store.handles(id), Bookkeeping.checks(declared, machine.store.history(id)));
        ImmutableSet<String> archives = ImmutableSet.copyOf(machine.disk.archives);
        Situation situation = new Situation(
                declared,
                desired.now().policy(),
                seen,
                machine.observer.host(ImmutableSet.of()),
                Company.NONE,
                archives,
                machine.store.history(id),
                machine.store.pause(id).orElse(null),
                machine.store.seed(),
                clock.instant());
        Situation known = Bookkeeping.observed(situation).situation();
        return Planner.plan(
                new DesiredState(declared == null ? ImmutableSortedMap.of() : ImmutableSortedMap.of(id, declared)),
                new ActualState(ImmutableSortedMap.of(id, known.seen()), archives, known.host()),
                new History(
                        ImmutableMap.of(id, known.history()),
                        Maps.uniqueIndex(machine.store.pauses(), Pause::workload),
                        machine.store.seed()),
                clock.instant());
    }
}
