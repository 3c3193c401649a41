package io.homeostat.reconcile.sim;

import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.store.ProcessIdentity;
import io.homeostat.observe.Health;
import io.homeostat.observe.ObservedWorkload;
import io.homeostat.reconcile.loop.StepExecutor;
import io.homeostat.reconcile.plan.Outcome;
import io.homeostat.reconcile.plan.Step;
import org.jspecify.annotations.Nullable;

/** Lets things happen, between passes and in the middle of one. */
final class World implements StepExecutor {
    private final Dice dice;
    private final VirtualClock clock;
    private final Declarations desired;
    private final FakeMachine machine;
    private final Story story;
    /** What is to strike in the middle of the next pass that does something. */
    private @Nullable Moment pending;

    World(Dice dice, VirtualClock clock, Declarations desired, FakeMachine machine, Story story) {
        this.dice = dice;
        this.clock = clock;
        this.desired = desired;
        this.machine = machine;
        this.story = story;
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
        for (WorkloadId id : Fate.IDS) {
            machine.store.resume(id, clock.instant());
            machine.living(id).stream()
                    .filter(process -> process.feels == Health.Verdict.UNKNOWN)
                    .forEach(process -> process.feels = Health.Verdict.HEALTHY);
        }
    }

    @Override
    public Outcome execute(Step step, ObservedWorkload seen) {
        strike(step.workload(), Moment.When.BEFORE_A_STEP);
        Outcome outcome = machine.executor.execute(step, seen);
        strike(step.workload(), Moment.When.AFTER_A_STEP);
        return outcome;
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
            case Happening.Declare declare -> desired.declare(declare.source(), declare.id(), declare.wish());
            case Happening.Withdraw withdraw -> {
                for (SourceName source : withdraw.sources()) {
                    desired.withdraw(source, withdraw.id());
                }
            }
            case Happening.Pause pause -> machine.store.pause(pause.id(), "by hand", clock.instant());
            case Happening.Resume resume -> machine.store.resume(resume.id(), clock.instant());
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
            case Happening.EmptyCache empty -> machine.disk.archives.clear();
            case Happening.SetClock set -> clock.set(set.by());
            case Happening.KillAgent kill -> throw new AgentCrash("by kill -9");
            case Happening.Reboot reboot -> {
                reboot();
                throw new AgentCrash("in a reboot");
            }
            case Happening.LoseDatabase lose -> {
                machine.store.lose();
                machine.asked.forget();
                throw new AgentCrash("and its database is lost");
            }
        }
    }

    private void reboot() {
        for (WorkloadId id : Fate.IDS) {
            for (FakeProcess process : machine.processes.launches(id)) {
                ProcessIdentity identity = process.identity;
                if (identity != null && process.alive()) {
                    // Written by the process itself and not synced: a power cut may take it.
                    process.identityOnDisk = !dice.strikes(Fault.IDENTITY_NOT_ON_DISK, id);
                }
            }
        }
        machine.processes.reboot();
    }
}
