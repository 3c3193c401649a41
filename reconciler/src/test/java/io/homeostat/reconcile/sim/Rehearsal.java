package io.homeostat.reconcile.sim;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedMap;
import com.google.common.collect.Maps;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Pause;
import io.homeostat.desired.state.history.ProvenRevision;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.observe.ActualState;
import io.homeostat.observe.Checks;
import io.homeostat.observe.ObservedWorkload;
import io.homeostat.observe.host.HostFact;
import io.homeostat.observe.host.HostFacts;
import io.homeostat.reconcile.loop.Next;
import io.homeostat.reconcile.plan.Bookkeeping;
import io.homeostat.reconcile.plan.Company;
import io.homeostat.reconcile.plan.History;
import io.homeostat.reconcile.plan.Planner;
import io.homeostat.reconcile.plan.Situation;
import io.homeostat.reconcile.plan.Step;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.stream.Stream;

/** The dry run of a simulated machine, and whether it foretells what is then done. */
final class Rehearsal {
    private final VirtualClock clock;
    private final Declarations desired;
    private final FakeMachine machine;
    private final Loop loop;

    Rehearsal(VirtualClock clock, Declarations desired, FakeMachine machine, Loop loop) {
        this.clock = clock;
        this.desired = desired;
        this.machine = machine;
        this.loop = loop;
    }

    /** What a dry run foretells is what is then done. */
    void requireForetells(long seed) {
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
            List<String> foretold = planOf(id).stream()
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
        List<FakeProcess> living = machine.living(id);
        boolean runs = living.size() == 1
                && machine.disk.isWhole(id, living.get(0).launched.directory())
                && living.get(0).lost.isEmpty()
                && living.get(0).worked;
        return !endsByItself && !isUnderWay(id) && (declared == null || runs);
    }

    boolean isUnderWay(WorkloadId id) {
        return loop.last(id) instanceof Next.Again
                || (loop.last(id) instanceof Next.Later later && later.until().kind() == Step.Wait.Kind.PROGRESS);
    }

    /** What is planned for a workload, with all that is known of the others. */
    ImmutableList<Step> planOf(WorkloadId id) {
        Declaration declared = desired.declaration(id).orElse(null);
        ImmutableSet<String> archives = ImmutableSet.copyOf(machine.disk.archives);
        HostFacts host = machine.observer.host(HostFact.askedBy(declared));
        Situation situation = new Situation(
                declared,
                desired.now().policy(),
                machine.observer.look(
                        id, machine.store.instances(id), Bookkeeping.checks(declared, machine.store.history(id))),
                host,
                Company.NONE,
                archives,
                machine.store.history(id),
                machine.store.pause(id).orElse(null),
                machine.store.seed(),
                clock.instant());
        Situation known = Bookkeeping.observed(situation).situation();
        Map<WorkloadId, ObservedWorkload> seen = new TreeMap<>();
        Map<WorkloadId, WorkloadHistory> remembered = new TreeMap<>();
        for (WorkloadId other : Fate.IDS) {
            seen.put(other, machine.observer.look(other, machine.store.instances(other), Checks.NONE));
            remembered.put(other, machine.store.history(other));
        }
        seen.put(id, known.seen());
        remembered.put(id, known.history());
        History history = new History(
                ImmutableMap.copyOf(remembered),
                Maps.uniqueIndex(machine.store.pauses(), Pause::workload),
                machine.store.seed());
        ActualState actual = new ActualState(ImmutableSortedMap.copyOf(seen), archives, host);
        return Planner.plan(desired.now(), actual, history, clock.instant()).workloads().stream()
                .filter(plan -> plan.workload().equals(id))
                .flatMap(plan -> plan.steps().stream())
                .collect(ImmutableList.toImmutableList());
    }
}
