package io.homeostat.reconcile.sim;

import com.google.common.base.Splitter;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.Sets;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.Dependencies;
import io.homeostat.desired.model.DesiredState;
import io.homeostat.desired.model.Lifecycle.MaxDisruption;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.history.Condition;
import io.homeostat.desired.state.history.OneShotRun;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.desired.state.history.WorkloadHistory.LastKnownGood;
import io.homeostat.reconcile.plan.LaunchInputs;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.plan.Traits;
import io.homeostat.reconcile.plan.Work;
import io.homeostat.reconcile.plan.WorkloadPlan;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * What must hold of the order in which workloads are started, stopped and changed, by what is true of the others; but an end that the
 * agent has not looked for since, it can't know. What something depends on it looks for before it launches that.
 */
final class OrderRules {
    private final DeclaredSnapshot asked;
    private final FakeStore store;
    private final FakeProcesses processes;
    private final VirtualClock clock;
    /** When each was looked at for the last time in a pass that came to its end, in steady milliseconds. */
    private final Map<WorkloadId, Long> lookedAt = new HashMap<>();

    /** What others wait for to end before they are stopped. */
    private final Map<WorkloadId, Set<WorkloadId>> awaited = new HashMap<>();

    /** What was wanted when the pass under way looked. */
    private DesiredState desired = DesiredState.EMPTY;

    private long since;
    /** Those that had to be stopped before the workload of the pass under way, which nobody wants. */
    private ImmutableList<WorkloadId> leaving = ImmutableList.of();

    OrderRules(DeclaredSnapshot asked, FakeStore store, FakeProcesses processes, VirtualClock clock) {
        this.asked = asked;
        this.store = store;
        this.processes = processes;
        this.clock = clock;
    }

    void looked(WorkloadId id) {
        desired = asked.answer();
        since = clock.steadyMillis();
        leaving = desired.get(id).isPresent()
                ? ImmutableList.of()
                : Scenario.IDS.stream()
                        .filter(other -> !other.equals(id) && depended(other, id))
                        .collect(ImmutableList.toImmutableList());
    }

    void finished(WorkloadId id) {
        lookedAt.put(id, since);
    }

    void beforeLaunch(Step.Launch step) {
        WorkloadId id = step.workload();
        Declaration declared = desired.get(id).orElse(null);
        boolean otherwiseByNow = asked.answer(id)
                .filter(answer -> declared != null && answer.hash().equals(declared.hash()))
                .isEmpty();
        if (declared == null || otherwiseByNow) {
            return;
        }
        Traits.of(step.declared())
                .parent()
                .ifPresent(parent -> Invariant.PARTS_GO_WITH_THEIR_PARENT.require(
                        desired.get(parent).filter(OneShotChecks::isOneShot).isPresent()
                                || hasCompleted(parent)
                                || store.instances(parent).stream()
                                        .anyMatch(
                                                instance -> instance.launchId().equals(step.parent())),
                        () -> step + " although there is " + store.instances(parent)));
        // The last good revision waits for nothing that only the new declaration depends on.
        for (WorkloadId needed :
                Sets.intersection(Dependencies.of(declared.workload()), Dependencies.of(step.declared()))) {
            Invariant.DEPENDENCIES_COME_FIRST.require(
                    isThere(needed, since), () -> step + " without " + needed + ": " + processes.launches(needed));
        }
    }

    void beforeRemoval(Step.Stop step) {
        for (WorkloadId dependant : leaving) {
            Invariant.DEPENDANTS_GO_FIRST.require(
                    processes.living(dependant).isEmpty()
                            || store.pause(dependant).isPresent(),
                    () -> step + " although it is needed by " + processes.living(dependant));
        }
    }

    /** Whether it goes down with that one, and before it. */
    private boolean isPart(WorkloadId other, WorkloadId parent) {
        return desired.get(other)
                .map(declared -> Traits.of(declared.workload()))
                .filter(traits -> traits.recreatedWithParent()
                        && traits.parent().filter(parent::equals).isPresent())
                .isPresent();
    }

    /** This is planned for a workload. */
    void planned(WorkloadId id, WorkloadPlan plan) {
        // What did not stop is on its way down until something else is planned.
        Step next = plan.next().orElse(null);
        if (!(next instanceof Step.Stop)) {
            awaited.put(id, next instanceof Step.Wait wait ? Set.copyOf(wait.parts()) : Set.of());
        }
    }

    /** Whether what it is part of waits for its end. */
    boolean isAwaited(WorkloadId part) {
        return awaited.values().stream().anyMatch(parts -> parts.contains(part));
    }

    /** What is part of an instance that is well, and may be stopped, is not killed with it. */
    void beforeStop(Step.Stop step) {
        boolean isWell = step.instance().isStarted()
                && step.cause() != Step.Stop.Cause.SURPLUS
                && store.history(step.workload()).run().healthySince() != null;
        for (WorkloadId part : isWell ? Scenario.IDS : ImmutableList.<WorkloadId>of()) {
            boolean recreated = desired.get(part)
                    .filter(declared -> Traits.of(declared.workload()).recreatedWithParent())
                    .isPresent();
            Invariant.PARTS_GO_FIRST.require(
                    !recreated
                            || isLeftAlone(part)
                            || store.instances(part).stream()
                                    .noneMatch(one -> !one.isOver()
                                            && FakeProcess.parent(one)
                                                    .equals(step.instance().launchId())),
                    () -> step + " with " + store.instances(part) + " in it");
        }
    }

    private boolean isLeftAlone(WorkloadId part) {
        WorkloadHistory history = store.history(part);
        return store.pause(part).filter(pause -> !pause.stopped()).isPresent()
                || history.attempts().upkeep().count() > 0
                || history.conditions().stream().anyMatch(condition -> condition.reason() == Reason.CANNOT_OBSERVE);
    }

    /** Of one that runs well and is to make place for what is declared; the run of a one-shot takes nobody's place. */
    void beforeReplacement(Step.Stop step) {
        WorkloadId id = step.workload();
        MaxDisruption disruption = asked.answer(id)
                .filter(declared -> !OneShotChecks.isOneShot(declared))
                .map(declared -> declared.workload().lifecycle().maxDisruption())
                .orElse(null);
        if (disruption == null || Work.isOneShot(step.instance())) {
            return;
        }
        List<WorkloadId> down = desired.declarations().keySet().stream()
                .filter(other -> !other.equals(id)
                        && isDaemon(other)
                        && !isDisabled(other)
                        && !isThere(other, lookedAt.getOrDefault(other, 0L)))
                .filter(other -> isKnownToServe(id) || !waitsFor(other, id))
                .filter(other -> !awaitsBoot(other, id) && !isPart(other, id))
                .toList();
        Invariant.NEVER_MORE_DOWN_THAN_ALLOWED.require(
                down.size() < disruption.count(), () -> step + " while these are down: " + down);
    }

    /** Whether it is in a machine, or needs one, that runs in this one and that only a new boot heals. */
    private boolean awaitsBoot(WorkloadId other, WorkloadId host) {
        return processes.living(FakeProcesses.SANDBOX).stream()
                .filter(guest -> !guest.lost.isEmpty() && guest.hosts.contains(host))
                .map(guest -> guest.launched.workload())
                .anyMatch(guest -> other.equals(guest) || waitsFor(other, guest));
    }

    /** Whether others that depend on it may start, as far as is known. */
    private boolean isKnownToServe(WorkloadId id) {
        LastKnownGood lastKnownGood = store.remembered(id).lastKnownGood();
        return lastKnownGood != null
                && store.remembered(id).conditions().stream()
                        .anyMatch(condition -> condition.type() == Condition.Type.HEALTHY
                                && condition.status() == Condition.Status.TRUE)
                && processes.living(id).stream()
                        .anyMatch(process -> FakeProcess.isLaunchedAs(lastKnownGood.workload(), process.launched));
    }

    private boolean waitsFor(WorkloadId other, WorkloadId id) {
        Set<WorkloadId> needed = new HashSet<>(Set.of(other));
        int before;
        do {
            before = needed.size();
            Set.copyOf(needed).stream()
                    .flatMap(each -> desired.get(each).stream())
                    .map(Declaration::workload)
                    .forEach(workload -> {
                        needed.addAll(Dependencies.of(workload));
                        Traits.of(workload).parent().ifPresent(needed::add);
                    });
        } while (needed.size() > before);
        return needed.contains(id);
    }

    private boolean isDaemon(WorkloadId id) {
        return desired.get(id)
                .filter(declared -> !OneShotChecks.isOneShot(declared))
                .isPresent();
    }

    private boolean isDisabled(WorkloadId id) {
        return store.remembered(id).conditions().stream()
                .anyMatch(condition ->
                        condition.type() == Condition.Type.DISABLED && condition.status() == Condition.Status.TRUE);
    }

    /** Whether another, that nobody wants either, depended on it and runs. */
    private boolean depended(WorkloadId other, WorkloadId id) {
        return desired.get(other).isEmpty()
                && store.pause(other).isEmpty()
                && !store.instances(other).stream().allMatch(Instance::isOver)
                && store.remembered(other).isOfSomethingDeclared()
                && processes.living(other).stream()
                        .anyMatch(process -> needs(process).contains(id.toString()));
    }

    /** As its last good revision says, when it runs that; else as it was launched. */
    private List<String> needs(FakeProcess process) {
        LastKnownGood lastKnownGood =
                store.remembered(process.launched.workload()).lastKnownGood();
        return lastKnownGood != null && FakeProcess.isLaunchedAs(lastKnownGood.workload(), process.launched)
                ? lastKnownGood.workload().lifecycle().dependsOn()
                : Splitter.on(',').splitToList(process.launched.inputs().getOrDefault(FakeProcess.NEEDS, ""));
    }

    /** Whether what is declared, or while nothing runs the last good revision, is launched again only after a failure, and has ended otherwise. */
    private boolean hasCompleted(WorkloadId id) {
        Declaration declared = desired.get(id).orElse(null);
        if (declared == null) {
            return false;
        }
        LastKnownGood lastKnownGood = store.remembered(id).lastKnownGood();
        return hasCompleted(declared.workload())
                || (lastKnownGood != null && processes.living(id).isEmpty() && hasCompleted(lastKnownGood.workload()));
    }

    private boolean hasCompleted(Workload workload) {
        return FakeMachine.mayComplete(workload) && processes.hasCompleted(workload);
    }

    /**
     * Whether a process of it has worked and is alive, or its end could not be known; of a one-shot, whether its run is completed.
     *
     * @param looked when it could be known last, in steady milliseconds
     */
    private boolean isThere(WorkloadId id, long looked) {
        Declaration declared = desired.get(id).orElse(null);
        if (declared == null) {
            return false;
        }
        if (OneShotChecks.isOneShot(declared)) {
            OneShotRun run = store.remembered(id).run().oneShot();
            return run != null
                    && run.result() == OneShotRun.Result.COMPLETED
                    && run.work()
                            .equals(LaunchInputs.recorded(declared.workload(), null)
                                    .get("work"));
        }
        if (hasCompleted(id)) {
            return true;
        }
        return processes.launches(id).stream()
                .filter(process -> process.worked && process.bootId.equals(processes.bootId()))
                .anyMatch(process -> process.alive() || (!process.stopped && process.endedAt >= looked));
    }
}
