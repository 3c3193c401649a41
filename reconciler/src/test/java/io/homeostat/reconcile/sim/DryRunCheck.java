package io.homeostat.reconcile.sim;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.desired.state.history.WorkloadHistory.LastKnownGood;
import io.homeostat.observe.health.Health;
import io.homeostat.reconcile.loop.PassResult;
import io.homeostat.reconcile.plan.Situations;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.status.Survey;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.stream.Stream;

/** The dry run of a simulated machine, and whether it foretells what is then done. */
final class DryRunCheck {
    private final VirtualClock clock;
    private final Declarations desired;
    private final FakeMachine machine;
    private final Loop loop;

    DryRunCheck(VirtualClock clock, Declarations desired, FakeMachine machine, Loop loop) {
        this.clock = clock;
        this.desired = desired;
        this.machine = machine;
        this.loop = loop;
    }

    /** What a dry run foretells is what is then done. */
    void requireForetells(long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        loop.resync(Duration.ofSeconds(30));
        for (WorkloadId id : Scenario.IDS) {
            loop.catchUp(id);
            if (!rests(id)) {
                continue;
            }
            machine.executor.drainExecuted();
            if (random.nextInt(100) < 25) {
                desired.withdraw(id);
            } else {
                String revision = "GOOD-" + random.nextInt(4);
                Wish wish = Wish.of(revision, ImmutableList.of(), "config0");
                boolean works = machine.behaviour(wish.workload(id)).isGood();
                desired.declare(SourceName.CONTROL_PLANE, id, works ? wish : wish.revised("GOOD-fresh"));
            }
            int commits = machine.store.commits();
            ImmutableList<Step> plan = planOf(id);
            List<String> foretold = plan.stream()
                    .filter(step -> !(step instanceof Step.Wait))
                    .map(Step::word)
                    .toList();
            Invariant.DRY_RUN_TOUCHES_NOTHING.require(
                    machine.store.commits() == commits
                            && machine.executor.drainExecuted().isEmpty(),
                    () -> id + " was planned, and something was done");
            loop.hint(id);
            // Where hints are lost these would take a resync to hear that they go first.
            plan.stream()
                    .filter(Step.Wait.class::isInstance)
                    .flatMap(step -> ((Step.Wait) step).parts().stream())
                    .forEach(loop::hint);
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
        Declaration declared = desired.declaration(id).orElse(null);
        boolean endsByItself = endsByItself(id);
        // Whatever becomes of these becomes of its launch, which waits for them.
        boolean othersMayChange = places(id).stream()
                .anyMatch(place -> desired.declaration(place).isPresent()
                        && (endsByItself(place) || !(loop.last(place) instanceof PassResult.Settled)));
        List<FakeProcess> living = machine.living(id);
        boolean runs = living.size() == 1
                && machine.disk.isWhole(id, living.get(0).launched.directory())
                && living.get(0).lost.isEmpty()
                && !living.get(0).deviates
                && living.get(0).worked;
        ImmutableList<Step> plan = planOf(id);
        Invariant.PLAN_OF_CONVERGED_IS_EMPTY.require(
                endsByItself || othersMayChange || !(loop.last(id) instanceof PassResult.Settled) || plan.isEmpty(),
                () -> id + " is settled, and planned is " + plan);
        // What is ill or damaged, or is to be launched again, is that before it is changed, and only that is foretold.
        boolean well = machine.store.history(id).run().healthFailures() == 0
                && living.stream().allMatch(process -> process.feels == Health.Verdict.HEALTHY)
                && living.stream()
                        .noneMatch(process -> process.launched
                                .launchId()
                                .equals(machine.store.history(id).run().again()))
                && plan.stream().allMatch(Step.Wait.class::isInstance)
                && !waitsForDependency(id);
        // What was found again by an agent that had forgotten it, and is wanted by nobody, may be stopped before its
        // driver is there.
        boolean known = machine.store.instances(id).stream().allMatch(Instance::isStarted);
        return !endsByItself && !othersMayChange && known && !isUnderWay(id) && well && (declared == null || runs);
    }

    /** Who runs it, and what it is in. */
    private static ImmutableList<WorkloadId> places(WorkloadId id) {
        if (Kinds.isTask(id)) {
            return ImmutableList.of(FakeProcesses.DRIVER);
        }
        if (Kinds.isContainer(id)) {
            return ImmutableList.of(FakeProcesses.SANDBOX, FakeProcesses.MONITOR);
        }
        return Kinds.isSandbox(id) ? ImmutableList.of(FakeProcesses.MONITOR) : ImmutableList.of();
    }

    private boolean endsByItself(WorkloadId id) {
        LastKnownGood lastKnownGood = machine.store.history(id).lastKnownGood();
        return Stream.of(
                        desired.declaration(id).map(Declaration::workload).orElse(null),
                        lastKnownGood == null ? null : lastKnownGood.workload())
                .filter(Objects::nonNull)
                .anyMatch(workload -> machine.disk
                                .behaviour(workload.id(), workload.revision())
                                .livesFor()
                        != Long.MAX_VALUE);
    }

    private boolean waitsForDependency(WorkloadId id) {
        return loop.last(id) instanceof PassResult.Later later
                && later.plan().reason() == Reason.WAITING_FOR_DEPENDENCY;
    }

    boolean isUnderWay(WorkloadId id) {
        return loop.last(id) instanceof PassResult.Again
                || loop.last(id) instanceof PassResult.UnderWay
                || (loop.last(id) instanceof PassResult.Later later
                        && later.until().kind() == Step.Wait.Kind.PROGRESS);
    }

    /** What {@code plan} would print for a workload. */
    ImmutableList<Step> planOf(WorkloadId id) {
        try {
            return new Survey(
                            machine.observer,
                            Survey.Memory.of(machine.store),
                            any -> "",
                            any -> Optional.empty(),
                            clock)
                    .everything(desired.now(), Situations.Depth.PRESENCE, id::equals).workloads().stream()
                            .flatMap(finding -> finding.plan().steps().stream())
                            .collect(ImmutableList.toImmutableList());
        } catch (InterruptedException e) {
            throw new IllegalStateException("a look without threads waited for one", e);
        }
    }
}
