package io.homeostat.reconcile.sim;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.StoreException;
import io.homeostat.observe.Observation;
import io.homeostat.observe.ObservedWorkload;
import io.homeostat.observe.Observer;
import io.homeostat.observe.Observer.Checks;
import io.homeostat.observe.health.Health;
import io.homeostat.observe.host.HostFacts;
import io.homeostat.observe.host.HostFacts.HostFact;
import io.homeostat.reconcile.loop.StepExecutor;
import io.homeostat.reconcile.loop.WorkloadPass;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.record.Outcome;
import org.jspecify.annotations.Nullable;

/** Lets things happen, between passes and in the middle of one. */
final class World implements StepExecutor, Observer {
    /** After which the kernel has written to disk what nobody has synced. */
    private static final long WRITTEN_BACK_MILLIS = 35_000;

    private final Dice dice;
    private final VirtualClock clock;
    private final Declarations desired;
    private final FakeMachine machine;
    private final Story story;
    private @Nullable WorkloadPass agent;
    /** What is to strike in the middle of the next pass that does something. */
    private @Nullable Moment pending;

    World(Dice dice, VirtualClock clock, Declarations desired, FakeMachine machine, Story story) {
        this.dice = dice;
        this.clock = clock;
        this.desired = desired;
        this.machine = machine;
        this.story = story;
        machine.executor.meanwhile(id -> strike(id, Moment.When.IN_A_STEP));
    }

    /** Whom those talk to who want something of the agent while it runs. */
    void meet(WorkloadPass pass) {
        agent = pass;
    }

    /** Lets a moment's happening happen, or keeps it for the middle of a pass. */
    void come(Moment moment) {
        if (moment.when() == Moment.When.BETWEEN_PASSES) {
            story.tell(moment::toString);
            happen(moment.happening());
        } else {
            pending = moment;
        }
    }

    /** Lets happen what has waited for a pass in vain. */
    void comeAnyway() {
        Moment moment = pending;
        if (moment != null) {
            pending = null;
            story.tell(moment::toString);
            happen(moment.happening());
        }
    }

    /** Nothing goes wrong any more by chance; what has gone wrong stays so until the agent repairs it, and nothing is left paused. */
    void calmDown() {
        story.tell(() -> "faults stop");
        dice.stopFaults();
        FakeHost.FACTS.forEach(machine.host::show);
        for (WorkloadId id : Fate.IDS) {
            machine.store.resume(id, "", clock.instant());
            machine.runs.excuse(id);
            machine.living(id).stream()
                    .filter(process -> process.feels == Health.Verdict.UNKNOWN)
                    .forEach(process -> process.feels = Health.Verdict.HEALTHY);
        }
    }

    @Override
    public ObservedWorkload look(WorkloadId id, ImmutableList<Instance> instances, Checks checks) {
        ObservedWorkload seen = machine.observer.look(id, instances, checks);
        strike(id, Moment.When.DURING_A_LOOK);
        machine.rules.looked(id);
        machine.restraints.looked(id);
        return seen;
    }

    @Override
    public Observation<ImmutableSet<String>> archives() {
        return machine.observer.archives();
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
        strike(step.workload(), Moment.When.BEFORE_A_STEP);
        Outcome outcome = machine.executor.execute(step, seen);
        strike(step.workload(), Moment.When.AFTER_A_STEP);
        return outcome;
    }

    @Override
    public void destroyEnded(WorkloadId id) {
        machine.executor.destroyEnded(id);
    }

    private void strike(WorkloadId id, Moment.When when) {
        Moment moment = pending;
        boolean concerned = moment != null
                && (!(moment.happening() instanceof Happening.OfWorkload of)
                        || of.id().equals(id));
        if (moment != null && concerned && moment.when() == when) {
            comeAnyway();
        }
    }

    /** @throws AgentCrash when it ends the agent */
    private void happen(Happening happening) {
        machine.processes.settle();
        switch (happening) {
            case Happening.Declare declare -> {
                desired.declare(declare.source(), declare.id(), declare.wish());
                abandonFetching(declare.id());
            }
            case Happening.Withdraw withdraw -> {
                for (SourceName source : withdraw.sources()) {
                    desired.withdraw(source, withdraw.id());
                }
                abandonFetching(withdraw.id());
            }
            case Happening.BreakFile file -> desired.breakFile(file.source(), file.id());
            case Happening.MendFile file -> {
                desired.mendFile(file.source(), file.id());
                abandonFetching(file.id());
            }
            case Happening.Pause pause ->
                amend(pause.id(), () -> machine.store.pause(pause.id(), "by hand", clock.instant()));
            case Happening.Resume resume -> {
                machine.runs.excuse(resume.id());
                amend(resume.id(), () -> machine.store.resume(resume.id(), "", clock.instant()));
            }
            case Happening.RetryNow retry -> {
                machine.runs.excuse(retry.id());
                amend(retry.id(), () -> machine.store.retryNow(ImmutableList.of(retry.id())));
            }
            case Happening.Kill kill -> machine.kill(kill.id(), kill.survivors());
            case Happening.Feel feel -> machine.living(feel.id()).forEach(process -> process.feels = feel.verdict());
            case Happening.Spoil spoil -> {
                machine.kill(spoil.id(), 0);
                desired.declaration(spoil.id())
                        .ifPresent(declared -> machine.disk.spoil(
                                spoil.id(), declared.workload().revision()));
            }
            case Happening.MoveLink move -> machine.disk.moveLink(move.id());
            case Happening.DeleteInstalls delete -> machine.disk.deleteInstalls(delete.id());
            case Happening.DamageInstalls damage -> machine.disk.damageInstalls(damage.id());
            case Happening.DeleteOpenFile delete ->
                machine.living(delete.id()).forEach(process -> process.lose(delete.loss()));
            case Happening.RecyclePid recycle -> machine.processes.recycle(recycle.id());
            case Happening.SetLimits set -> machine.living(set.id()).forEach(process -> process.limits = set.limits());
            case Happening.SetFact set -> machine.host.set(set.fact(), set.value());
            case Happening.HideFact hide -> machine.host.hide(hide.fact());
            case Happening.ShowFact show -> machine.host.show(show.fact());
            case Happening.EmptyCache empty -> machine.disk.archives.clear();
            case Happening.SetClock set -> clock.set(set.by());
            case Happening.KillAgent kill -> throw new AgentCrash("by kill -9");
            case Happening.Reboot reboot -> throw new PowerCut("in a reboot");
            case Happening.LoseDatabase lose -> {
                machine.store.lose();
                machine.asked.forget();
                machine.restraints.forget();
                desired.loseWhatOnlyTheDatabaseHad();
                throw new AgentCrash("and its database is lost");
            }
        }
    }

    /** What somebody asks a running agent for: an amendment, and nobody waits any more for what is being fetched. */
    private void amend(WorkloadId id, Runnable change) {
        if (agent == null) {
            return;
        }
        try {
            agent.amend(change);
            machine.store.amended(id);
            abandonFetching(id);
        } catch (StoreException e) {
            story.tell(() -> "  refused: " + e.getMessage());
        }
    }

    private void abandonFetching(WorkloadId id) {
        if (agent != null) {
            agent.abandonFetching(id);
        }
    }

    /** Nothing runs any more, and of what nobody has synced as much is gone as the dice say. */
    void powerFails() {
        for (WorkloadId id : Fate.IDS) {
            for (FakeProcess process : machine.processes.launches(id)) {
                // Both are written beside the process by a shell, which syncs nothing.
                process.identityOnDisk &= !dice.strikes(Fault.IDENTITY_NOT_ON_DISK, id);
                boolean fresh = clock.steadyMillis() - process.endedAt < WRITTEN_BACK_MILLIS;
                process.exitOnDisk &= !fresh || !dice.strikes(Fault.EXIT_NOT_ON_DISK, id);
            }
        }
        machine.disk.unsynced.powerFails(place -> dice.strikes(Fault.CHANGES_NOT_ON_DISK, Fate.IDS.get(0)));
        machine.runs.powerFails(machine::remembers);
        machine.processes.comeBack(id -> dice.strikes(Fault.REMOVED_NOTES_COME_BACK, id));
        machine.processes.reboot();
    }
}
