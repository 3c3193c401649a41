package io.homeostat.reconcile.sim;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.ProgramUser;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.StateStore.Change;
import io.homeostat.desired.state.StoreException;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.desired.state.history.WorkloadHistory.FailedRevision;
import io.homeostat.desired.state.history.WorkloadHistory.LastKnownGood;
import io.homeostat.observe.Observation;
import io.homeostat.observe.ObservedWorkload;
import io.homeostat.observe.Observer;
import io.homeostat.observe.Observer.Checks;
import io.homeostat.observe.files.FileContent;
import io.homeostat.observe.health.Health;
import io.homeostat.observe.host.HostFacts;
import io.homeostat.observe.host.HostFacts.HostFact;
import io.homeostat.reconcile.loop.StepExecutor;
import io.homeostat.reconcile.loop.WorkloadPass;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.plan.Traits;
import io.homeostat.reconcile.record.Outcome;
import org.jspecify.annotations.Nullable;

/** Lets things happen, between passes and in the middle of one. */
final class World implements StepExecutor, Observer {
    /** After which the kernel has written to disk what nobody has synced. */
    private static final long WRITTEN_BACK_MILLIS = 35_000;

    private final FaultInjector faults;
    private final VirtualClock clock;
    private final Declarations desired;
    private final FakeMachine machine;
    private final Story story;
    private @Nullable WorkloadPass agent;
    /** What is to strike in the middle of the next pass that does something. */
    private Scenario.@Nullable Moment pending;

    World(FaultInjector faults, VirtualClock clock, Declarations desired, FakeMachine machine, Story story) {
        this.faults = faults;
        this.clock = clock;
        this.desired = desired;
        this.machine = machine;
        this.story = story;
        machine.executor.meanwhile(id -> strike(id, Scenario.Moment.When.IN_A_STEP));
    }

    /** Whom those talk to who want something of the agent while it runs. */
    void meet(WorkloadPass pass) {
        agent = pass;
    }

    /** Lets a moment's event happen, or keeps it for the middle of a pass. */
    void come(Scenario.Moment moment) {
        if (moment.when() == Scenario.Moment.When.BETWEEN_PASSES) {
            story.tell(moment::toString);
            happen(moment.event());
        } else {
            pending = moment;
        }
    }

    /** Lets happen what has waited for a pass in vain. */
    void comeAnyway() {
        Scenario.Moment moment = pending;
        if (moment != null) {
            pending = null;
            story.tell(moment::toString);
            happen(moment.event());
        }
    }

    /** Nothing goes wrong any more by chance; what has gone wrong stays so until the agent repairs it, and nothing is left paused. */
    void calmDown() {
        story.tell(() -> "faults stop");
        faults.stopFaults();
        FakeHost.FACTS.forEach(machine.host::show);
        if (machine.disk.variables == null) {
            machine.disk.variables = "A=calm";
        }
        for (WorkloadId id : Scenario.IDS) {
            machine.store.resume(id, "", clock.instant());
            machine.runs.excuse(id);
            machine.living(id).stream()
                    .filter(process ->
                            process.feels == Health.Verdict.UNKNOWN || process.feels == Health.Verdict.DEGRADED)
                    .forEach(process -> process.feels = Health.Verdict.HEALTHY);
        }
        // Whoever runs the machine boots it, where that can't be done from here.
        ImmutableList<WorkloadId> hosts = desired.declaration(FakeProcesses.SANDBOX)
                .map(declared -> Traits.of(declared.workload()).hosts())
                .orElse(ImmutableList.of());
        machine.living(FakeProcesses.SANDBOX).stream()
                .filter(sandbox -> !sandbox.lost.isEmpty())
                .filter(sandbox -> hosts.isEmpty() || !sandbox.hosts.equals(hosts))
                .forEach(sandbox -> machine.processes.kill(sandbox, 0));
    }

    @Override
    public ObservedWorkload look(WorkloadId id, ImmutableList<Instance> instances, Checks checks) {
        ObservedWorkload seen = machine.observer.look(id, instances, checks);
        strike(id, Scenario.Moment.When.DURING_A_LOOK);
        machine.rules.looked(id);
        machine.restraints.looked(id);
        return seen;
    }

    @Override
    public boolean isGone(Instance instance) {
        return machine.observer.isGone(instance);
    }

    @Override
    public Observation<ImmutableSet<String>> archives() {
        return machine.observer.archives();
    }

    @Override
    public ImmutableMap<String, FileContent> files(@Nullable ProgramUser user, ImmutableSet<String> paths) {
        return machine.observer.files(user, paths);
    }

    @Override
    public HostFacts host(ImmutableSet<HostFact> asked) {
        HostFacts host = machine.observer.host(asked);
        machine.restraints.told(host);
        return host;
    }

    @Override
    public Observation<ImmutableSet<WorkloadId>> traces() {
        return machine.observer.traces();
    }

    @Override
    public Outcome execute(Step step, ObservedWorkload seen) {
        strike(step.workload(), Scenario.Moment.When.BEFORE_A_STEP);
        Outcome outcome = machine.executor.execute(step, seen);
        strike(step.workload(), Scenario.Moment.When.AFTER_A_STEP);
        return outcome;
    }

    @Override
    public void destroyEnded(WorkloadId id) {
        machine.executor.destroyEnded(id);
    }

    private void strike(WorkloadId id, Scenario.Moment.When when) {
        Scenario.Moment moment = pending;
        boolean concerned = moment != null
                && (!(moment.event() instanceof WorldEvent.OfWorkload of)
                        || of.id().equals(id));
        if (moment != null && concerned && moment.when() == when) {
            comeAnyway();
        }
    }

    /** @throws AgentCrash when it ends the agent */
    private void happen(WorldEvent event) {
        machine.processes.settle();
        switch (event) {
            case WorldEvent.Declare declare -> {
                desired.declare(declare.source(), declare.id(), declare.wish());
            }
            case WorldEvent.Withdraw withdraw -> {
                for (SourceName source : withdraw.sources()) {
                    desired.withdraw(source, withdraw.id());
                }
            }
            case WorldEvent.BreakFile file -> desired.breakFile(file.source(), file.id());
            case WorldEvent.MendFile file -> {
                desired.mendFile(file.source(), file.id());
            }
            case WorldEvent.Pause pause ->
                amend(pause.id(), () -> machine.store.pause(pause.id(), "by hand", clock.instant()));
            case WorldEvent.Resume resume -> {
                machine.runs.excuse(resume.id());
                amend(resume.id(), () -> {
                    machine.store.resume(resume.id(), "", clock.instant());
                    machine.store.retryUndone(ImmutableList.of(resume.id()), false);
                });
            }
            case WorldEvent.RetryNow retry -> {
                machine.runs.excuse(retry.id());
                amend(retry.id(), () -> machine.store.retryNow(ImmutableList.of(retry.id())));
            }
            case WorldEvent.Start start -> {
                machine.runs.excuse(start.id());
                amend(start.id(), () -> {
                    machine.store.resume(start.id(), "", clock.instant());
                    machine.store.retryNow(ImmutableList.of(start.id()));
                    machine.store.launchCompleted(ImmutableList.of(start.id()));
                });
            }
            case WorldEvent.LaunchAgain again -> {
                machine.runs.excuse(again.id());
                amend(again.id(), () -> {
                    machine.store.resume(again.id(), "", clock.instant());
                    machine.store.retryNow(ImmutableList.of(again.id()));
                    machine.store.launchAgain(ImmutableList.of(again.id()));
                });
            }
            case WorldEvent.RollBack back -> amend(back.id(), () -> rollBack(back));
            case WorldEvent.Kill kill -> machine.kill(kill.id(), kill.survivors());
            case WorldEvent.Feel feel -> machine.living(feel.id()).forEach(process -> process.feels = feel.verdict());
            case WorldEvent.Spoil spoil -> {
                machine.kill(spoil.id(), 0);
                desired.declaration(spoil.id())
                        .ifPresent(declared -> machine.disk.spoil(
                                spoil.id(), declared.workload().revision()));
            }
            case WorldEvent.MoveLink move -> machine.disk.moveLink(move.id());
            case WorldEvent.DeleteInstalls delete -> machine.disk.deleteInstalls(delete.id());
            case WorldEvent.DamageInstalls damage -> machine.disk.damageInstalls(damage.id());
            case WorldEvent.DeleteOpenFile delete ->
                machine.living(delete.id()).forEach(process -> process.lose(delete.loss()));
            // Only of what can be given it again.
            case WorldEvent.Deviate change ->
                machine.living(change.id()).stream()
                        .filter(process -> Kinds.isToldToStart(process.launched.workload())
                                || Kinds.isOfGuest(process.launched.workload()))
                        .forEach(process -> process.deviates = true);
            case WorldEvent.RecyclePid recycle -> machine.processes.recycle(recycle.id());
            // Those of what is in a guest only the guest tells.
            case WorldEvent.SetLimits set ->
                machine.living(set.id()).stream()
                        .filter(process -> !Kinds.isOfGuest(process.launched.workload()))
                        .forEach(process -> process.limits = set.limits());
            case WorldEvent.SetFact set -> machine.host.set(set.fact(), set.value());
            case WorldEvent.HideFact hide -> machine.host.hide(hide.fact());
            case WorldEvent.ShowFact show -> machine.host.show(show.fact());
            case WorldEvent.WriteFile write ->
                machine.disk.variables = write.variables().orElse(null);
            case WorldEvent.EmptyCache empty -> machine.disk.archives.clear();
            case WorldEvent.SetClock set -> clock.set(set.by());
            case WorldEvent.KillAgent kill -> throw new AgentCrash("by kill -9");
            case WorldEvent.Reboot reboot -> throw new AgentCrash.PowerCut("in a reboot");
            case WorldEvent.LoseDatabase lose -> {
                machine.store.lose();
                machine.asked.forget();
                machine.restraints.forget();
                desired.loseWhatOnlyTheDatabaseHad();
                throw new AgentCrash("and its database is lost");
            }
        }
    }

    /** What somebody asks a running agent for: an amendment. */
    private void amend(WorkloadId id, Runnable change) {
        WorkloadPass running = agent;
        if (running == null) {
            return;
        }
        try {
            running.amend(ImmutableList.of(id), change);
            machine.store.amended(id);
        } catch (StoreException e) {
            story.tell(() -> "  refused: " + e.getMessage());
        }
    }

    /** As far as there is a good revision that may take the place of what is declared. */
    private void rollBack(WorldEvent.RollBack back) {
        WorkloadId id = back.id();
        Declaration declared = desired.declaration(id)
                .filter(one -> !OneShotChecks.isOneShot(one))
                .orElse(null);
        if (declared == null) {
            return;
        }
        ImmutableList<LastKnownGood> good = machine.store.good(id).stream()
                .filter(one ->
                        !one.hash().equals(declared.hash()) && !one.workload().isOneShot())
                .collect(ImmutableList.toImmutableList());
        if (good.isEmpty()) {
            return;
        }
        LastKnownGood former = good.get(back.choice() % good.size());
        WorkloadHistory before = machine.store.history(id);
        LastKnownGood runs = before.undone(declared.hash())
                .filter(one -> one.byRequest() && one.replacedAt() == null)
                .map(FailedRevision::meanwhile)
                .orElse(before.lastKnownGood());
        FailedRevision undone = FailedRevision.byRequest(
                declared.hash(),
                declared.workload().revision(),
                clock.instant(),
                "rolled back by hand",
                runs == null || runs.hash().equals(former.hash()) ? null : runs);
        machine.store.resume(id, "", clock.instant());
        machine.store.commit(Change.ofHistory(id, machine.store.history(id).rolledBack(undone, former)));
    }

    /** Nothing runs any more, and of what nobody has synced as much is gone as chance has it. */
    void powerFails() {
        for (WorkloadId id : Scenario.IDS) {
            for (FakeProcess process : machine.processes.launches(id)) {
                // Both are written beside the process by a shell, which syncs nothing.
                process.identityOnDisk &= !faults.strikes(Fault.IDENTITY_NOT_ON_DISK, id);
                boolean fresh = clock.steadyMillis() - process.endedAt < WRITTEN_BACK_MILLIS;
                process.exitOnDisk &= !fresh || !faults.strikes(Fault.EXIT_NOT_ON_DISK, id);
            }
        }
        machine.disk.unsynced.powerFails(place -> faults.strikes(Fault.CHANGES_NOT_ON_DISK, Scenario.IDS.get(0)));
        machine.runs.powerFails(machine::remembers);
        machine.processes.comeBack(id -> faults.strikes(Fault.REMOVED_NOTES_COME_BACK, id));
        machine.processes.reboot();
    }
}
