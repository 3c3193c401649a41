package io.homeostat.reconcile.sim;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.Lifecycle.Limits;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.StateStore.Change;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.observe.ObservedWorkload;
import io.homeostat.observe.files.FileContent;
import io.homeostat.reconcile.loop.StepExecutor;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.plan.Traits;
import io.homeostat.reconcile.record.Outcome;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.Consumer;

/**
 * Does steps to the fake machine. Effects are as coarse as the real ones are atomic: a rename, a spawn, an RPC; the agent may die
 * between any two of them. What must never happen is checked by {@link StepRules} before it would.
 */
final class FakeExecutor implements StepExecutor {
    private static final long SLOW_BIRTH_MILLIS = 4000;

    private final FaultInjector faults;
    private final VirtualClock clock;
    private final FakeDisk disk;
    private final FakeProcesses processes;
    private final StepRules rules;
    private final StateStore store;
    private final FakeDirectoryVerbs directories;
    private final List<Step> executed = new ArrayList<>();
    private Consumer<WorkloadId> meanwhile = id -> {};
    private int launches;
    private int failures;

    FakeExecutor(
            FaultInjector faults,
            VirtualClock clock,
            FakeDisk disk,
            FakeProcesses processes,
            StepRules rules,
            StateStore store) {
        this.faults = faults;
        this.clock = clock;
        this.disk = disk;
        this.processes = processes;
        this.rules = rules;
        this.store = store;
        this.directories = new FakeDirectoryVerbs(faults, clock, disk, processes, rules, this::agentMayDie);
    }

    /** @param happens between two effects of a step */
    void meanwhile(Consumer<WorkloadId> happens) {
        meanwhile = happens;
    }

    /** The steps that were done since this was last asked. */
    List<Step> drainExecuted() {
        List<Step> steps = List.copyOf(executed);
        executed.clear();
        return steps;
    }

    @Override
    public Outcome execute(Step step, ObservedWorkload seen) {
        WorkloadId id = step.workload();
        rules.beforeAny(step, seen);
        faults.agentMayDie(Fault.AGENT_DIES_BEFORE_A_STEP, id, "before " + step.word());
        if (faults.strikes(Fault.INTERRUPTED_BEFORE_A_STEP, id)) {
            return new Outcome.Interrupted();
        }
        clock.advanceMillis(1 + faults.pick(FaultInjector.Draw.STEP_MILLIS, id, 20));
        processes.settle();
        Outcome outcome = switch (step) {
            case Step.Download download -> directories.download(download);
            case Step.Unpack unpack -> directories.unpack(unpack);
            case Step.Activate activate -> directories.activate(activate);
            case Step.Launch launch -> launch(launch, seen);
            case Step.Start start -> start(start, seen);
            case Step.ApplyConfig apply -> apply(apply, seen);
            case Step.Reload reload -> Outcome.done("by SIGHUP");
            case Step.Reboot reboot -> throw new IllegalArgumentException("nothing here is in a machine of its own");
            case Step.Stop stop -> stop(stop);
            case Step.Remove remove -> directories.remove(remove);
            case Step.CollectGarbage garbage -> directories.collect(garbage);
            case Step.SetLimits limits -> limit(limits);
            case Step.Wait wait -> throw new Invariant.Violation(Invariant.NO_PASS_BREAKS, "a wait was executed");
        };
        if (outcome instanceof Outcome.Done) {
            executed.add(step);
        }
        boolean fetches = step instanceof Step.Download || step instanceof Step.Unpack;
        Invariant.ONLY_FETCHING_IS_BROKEN_OFF.require(
                fetches || !Thread.currentThread().isInterrupted(), () -> "interrupted: " + step);
        faults.agentMayDie(Fault.AGENT_DIES_AFTER_A_STEP, id, "after " + step.word());
        return faults.strikes(Fault.INTERRUPTED_AFTER_A_STEP, id) ? new Outcome.Interrupted() : reworded(outcome);
    }

    @Override
    public void destroyEnded(WorkloadId id) {
        for (Instance instance : store.instances(id)) {
            if (instance.isOver() && !faults.strikes(Fault.REMOVE_FAILS, id)) {
                processes.remains.remove(instance.launchId());
                agentMayDie(id, "between removing what an instance left and forgetting it");
                store.commit(Change.ofEnd(instance));
            }
        }
    }

    /** No failure says the same as the one before: nothing may depend on its words. */
    private Outcome reworded(Outcome outcome) {
        return outcome instanceof Outcome.Failed(FailureCause cause, String error, boolean fatal)
                ? new Outcome.Failed(cause, "failure " + ++failures + ": " + error, fatal)
                : outcome;
    }

    private void agentMayDie(WorkloadId id, String where) {
        meanwhile.accept(id);
        faults.agentMayDie(Fault.AGENT_DIES_IN_A_STEP, id, where);
    }

    private Outcome launch(Step.Launch step, ObservedWorkload seen) {
        WorkloadId id = step.workload();
        rules.beforeLaunch(step);
        processes.forgetAllBut(launchIds(seen), id);
        ImmutableMap<String, FileContent> files =
                disk.files(Traits.of(step.declared()).files());
        if (files.containsValue(new FileContent.Absent())) {
            return new Outcome.Failed(FailureCause.of(FailureCause.Kind.FILE_MISSING), "no file", false);
        }
        if (Kinds.isTask(id) && !processes.isDriven()) {
            return new Outcome.Failed(FailureCause.of(FailureCause.Kind.NO_CONNECTION), "no driver", false);
        }
        if (Kinds.isContainer(id) && !step.hasItsParent(store::instances)) {
            return new Outcome.Interrupted();
        }
        ImmutableList<WorkloadId> hosts = Traits.of(step.declared()).hosts();
        boolean answers = Kinds.isContainer(id)
                ? processes.isKnownToItsAgent(String.valueOf(step.parent()))
                : hosts.stream().noneMatch(host -> processes.living(host).isEmpty());
        if (!answers) {
            return new Outcome.Failed(FailureCause.of(FailureCause.Kind.NO_CONNECTION), "nobody answers", false);
        }
        Instance instance = new Instance(
                "launch-" + ++launches,
                id,
                step.hash(),
                step.declared().revision(),
                step.directory(),
                step.inputs(files),
                clock.instant(),
                null,
                Phase.INTENDED,
                Kinds.isToldToStart(id) ? "" : Traits.of(step.declared()).configHash());
        store.commit(Change.ofInstance(instance));
        agentMayDie(id, "between writing a launch down and spawning it");
        boolean fatal = Behaviour.of(instance.revision()) == Behaviour.UNLAUNCHABLE;
        String directory = step.directory();
        boolean gone = directory != null && !disk.installs(id).containsKey(directory);
        if (fatal || gone || faults.strikes(Fault.LAUNCH_FAILS, id)) {
            return undo(instance, fatal);
        }
        processes.syncNotes(id);
        boolean slow = faults.strikes(Fault.BIRTH_IS_SLOW, id);
        long takes = faults.pick(FaultInjector.Draw.BIRTH_MILLIS, id, 30) + (slow ? SLOW_BIRTH_MILLIS : 0);
        FakeProcess process =
                processes.launch(instance, disk.behaviour(id, instance.revision()), clock.steadyMillis() + takes);
        process.limits = step.declared().lifecycle().limits();
        process.configHash = instance.configHash();
        process.hosts = hosts;
        process.exitOnDisk = !faults.strikes(Fault.EXIT_NOT_RECORDED, id);
        disk.residue.add(id);
        agentMayDie(id, "while a process is being born");
        clock.advanceMillis(takes);
        processes.settle();
        agentMayDie(id, "between spawning a process and saying so");
        return process.identity == null
                ? new Outcome.Failed(FailureCause.of(FailureCause.Kind.NO_PROCESS), "no process", false)
                : Outcome.launched(instance.withIdentity(Objects.requireNonNull(process.named())));
    }

    private static ImmutableSet<String> launchIds(ObservedWorkload seen) {
        return StepRules.instances(seen).stream()
                .map(process -> process.instance().launchId())
                .collect(ImmutableSet.toImmutableSet());
    }

    private Outcome undo(Instance instance, boolean fatal) {
        store.commit(Change.ofEnd(instance));
        return new Outcome.Failed(FailureCause.of(FailureCause.Kind.FILE_MISSING), "no such file", fatal);
    }

    private Outcome start(Step.Start step, ObservedWorkload seen) {
        WorkloadId id = step.workload();
        FakeProcess process = rules.only(step, seen);
        Instance instance = StepRules.instances(seen).get(0).instance().withPhase(Phase.START_SENT, "");
        store.commit(Change.ofInstance(instance));
        process.note = instance;
        if (!process.alive()) {
            return new Outcome.Failed(FailureCause.of(FailureCause.Kind.NO_CONNECTION), "connection refused", false);
        }
        rules.beforeStart(process);
        process.starts++;
        agentMayDie(id, "between Start and its answer");
        if (process.behaviour == Behaviour.START_ERROR || faults.strikes(Fault.START_IS_REFUSED, id)) {
            return new Outcome.Failed(FailureCause.of(FailureCause.Kind.REFUSED), "start refused", false);
        }
        if (faults.strikes(Fault.START_HANGS, id)) {
            clock.advance(step.timeout());
            return new Outcome.Failed(FailureCause.of(FailureCause.Kind.TIMED_OUT), "no answer", false);
        }
        process.configHash = step.configHash();
        disk.worked(process);
        agentMayDie(id, "before it notes that a plugin has started");
        process.note = instance.withPhase(Phase.STARTED, process.configHash);
        return Outcome.done();
    }

    private Outcome apply(Step.ApplyConfig step, ObservedWorkload seen) {
        FakeProcess process = rules.only(step, seen);
        rules.beforeApply(process);
        if (process.behaviour == Behaviour.APPLY_UNSUPPORTED) {
            return new Outcome.Unsupported();
        }
        Limits limits = step.declared().lifecycle().limits();
        if (Kinds.isContainer(step.workload()) && isLifted(process.limits, limits)) {
            return new Outcome.Unsupported();
        }
        boolean refuses = process.behaviour == Behaviour.APPLY_ERROR || !isReached(process);
        if (!process.alive()
                || !process.lost.isEmpty()
                || refuses
                || faults.strikes(Fault.APPLY_IS_REFUSED, step.workload())) {
            return new Outcome.Failed(FailureCause.of(FailureCause.Kind.REFUSED), "not accepted", false);
        }
        process.configHash = step.configHash();
        process.deviates = false;
        process.limits = Kinds.isContainer(step.workload()) ? limits : process.limits;
        agentMayDie(step.workload(), "before it notes that a plugin has its configuration");
        process.note = process.note.withPhase(Phase.STARTED, process.configHash);
        return Outcome.done();
    }

    /** No agent lifts a limit. */
    private static boolean isLifted(Limits before, Limits now) {
        return (before.memory() != null && now.memory() == null) || (before.cpu() != null && now.cpu() == null);
    }

    /** Whether whoever runs it knows of it. */
    private boolean isReached(FakeProcess process) {
        return !Kinds.isContainer(process.launched.workload())
                || processes.isKnownToItsAgent(FakeProcess.parent(process.launched));
    }

    private Outcome limit(Step.SetLimits step) {
        if (faults.strikes(Fault.LIMITS_ARE_REFUSED, step.workload())) {
            return new Outcome.Failed(FailureCause.of(FailureCause.Kind.INPUT_OUTPUT), "busy", false);
        }
        processes.living(step.workload()).forEach(process -> process.limits = step.limits());
        return Outcome.done();
    }

    private Outcome stop(Step.Stop step) {
        WorkloadId id = step.workload();
        FakeProcess process = rules.beforeStop(step);
        if (Kinds.leavesRemains(id) && !Kinds.isOfGuest(id)) {
            // Its stop is not to be repeated.
            store.commit(Change.ofInstance(step.instance().withPhase(Phase.STOPPING, "")));
        }
        if (process.alive() && process.behaviour == Behaviour.HANGS_AT_STOP) {
            clock.advance(step.how().timeout());
        }
        agentMayDie(id, "before a process has ended");
        if (faults.strikes(Fault.STOP_FAILS, id)) {
            return new Outcome.Failed(FailureCause.of(FailureCause.Kind.UNKILLABLE), "still there", false);
        }
        if (process.alive() && !isReached(process)) {
            return new Outcome.Failed(
                    FailureCause.of(FailureCause.Kind.UNKILLABLE), "its agent has no such one", false);
        }
        ProcessIdentity known =
                Kinds.isRunByOthers(id) ? process.identity : step.instance().process();
        if (known != null) {
            processes.signal(known);
            process.stopped = true;
            process.endNoted |= Kinds.isTask(id) && !processes.isDriven();
        }
        agentMayDie(id, "before the children of a process have ended");
        process.survivors = 0;
        return Outcome.done("stopped");
    }
}
