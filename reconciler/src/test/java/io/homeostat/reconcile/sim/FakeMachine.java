package io.homeostat.reconcile.sim;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.ConfigHash;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.store.Change;
import io.homeostat.desired.store.Exit;
import io.homeostat.desired.store.Handle;
import io.homeostat.desired.store.ProcessIdentity;
import io.homeostat.desired.store.StateStore;
import io.homeostat.observe.Checks;
import io.homeostat.observe.Health;
import io.homeostat.observe.Installation;
import io.homeostat.observe.Observation;
import io.homeostat.observe.ObservedProcess;
import io.homeostat.observe.ObservedProcess.Liveness;
import io.homeostat.observe.ObservedWorkload;
import io.homeostat.observe.Observer;
import io.homeostat.reconcile.loop.StepExecutor;
import io.homeostat.reconcile.plan.LaunchInputs;
import io.homeostat.reconcile.plan.Outcome;
import io.homeostat.reconcile.plan.Step;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * A machine behind the interfaces of the real one. Effects are as coarse as the real ones are atomic: a rename, a spawn, an RPC;
 * the agent may die between any two of them. What must never happen is checked where it would.
 */
final class FakeMachine implements Observer, StepExecutor {
    private final Chaos chaos;
    private final InstantSource clock;
    private final StateStore store;
    private final TreeSet<String> archives = new TreeSet<>();
    private final Map<WorkloadId, Map<String, Installation>> installs = new TreeMap<>();
    private final Map<WorkloadId, String> links = new TreeMap<>();
    private final TreeSet<WorkloadId> residue = new TreeSet<>();
    private final Map<String, FakeProcess> processes = new LinkedHashMap<>();
    /** Where the revision that was last seen to work is installed: what an upgrade must not take away before it has worked. */
    private final Map<WorkloadId, String> lastGood = new TreeMap<>();

    private final List<Step> executed = new ArrayList<>();
    private long nextPid = 100;

    FakeMachine(Chaos chaos, InstantSource clock, StateStore store) {
        this.chaos = chaos;
        this.clock = clock;
        this.store = store;
    }

    // --- looking

    @Override
    public ObservedWorkload look(WorkloadId id, ImmutableList<Handle> handles, Checks checks) {
        if (chaos.fault(2)) {
            return new ObservedWorkload(
                    id,
                    Observation.unseen("permission denied"),
                    Observation.seen(Optional.empty()),
                    Observation.seen(ImmutableList.of()),
                    Observation.seen(false));
        }
        return new ObservedWorkload(
                id,
                Observation.seen(ImmutableList.copyOf(installs(id).values())),
                Observation.seen(Optional.ofNullable(links.get(id))),
                chaos.fault(2)
                        ? Observation.unseen("too many open files")
                        : Observation.seen(lookAtProcesses(id, handles)),
                Observation.seen(residue.contains(id)));
    }

    private ImmutableList<ObservedProcess> lookAtProcesses(WorkloadId id, ImmutableList<Handle> handles) {
        ImmutableList.Builder<ObservedProcess> seen = ImmutableList.builder();
        for (Handle handle : handles) {
            FakeProcess process = processes.get(handle.launchId());
            seen.add(new ObservedProcess(handle, true, liveness(handle, process)));
        }
        for (FakeProcess process : processes.values()) {
            boolean remembered = handles.stream().anyMatch(h -> h.launchId().equals(process.launched.launchId()));
            if (process.launched.workload().equals(id) && process.alive() && !remembered) {
                seen.add(new ObservedProcess(process.launched, false, liveness(process.launched, process)));
            }
        }
        return seen.build();
    }

    private Liveness liveness(Handle handle, @Nullable FakeProcess process) {
        if (process == null) {
            return new Liveness.Ended(new Exit(null, null, Exit.Reason.UNKNOWN, clock.instant()));
        }
        Exit exit = process.exit;
        if (exit != null) {
            return new Liveness.Ended(exit);
        }
        boolean listens = handle.workload().kind() == Kind.PROCESS || process.behaviour != Behaviour.NEVER_LISTENS;
        Health health = null;
        if (handle.workload().kind() == Kind.PLUGIN && handle.start() == Handle.StartState.SUCCEEDED) {
            require(process.starts == 1, "health was asked of a plugin that was not started", handle);
            health = process.healthy
                    ? Health.healthy(clock.instant())
                    : Health.failed(Health.Verdict.UNHEALTHY, "says no", clock.instant());
        }
        return new Liveness.Running(
                process.identity, Duration.between(process.since, clock.instant()), listens, health);
    }

    @Override
    public Observation<ImmutableSet<String>> archives() {
        return Observation.seen(ImmutableSet.copyOf(archives));
    }

    @Override
    public Observation<ImmutableSet<WorkloadId>> traces() {
        TreeSet<WorkloadId> traces = new TreeSet<>(residue);
        traces.addAll(links.keySet());
        installs.forEach((id, all) -> {
            if (!all.isEmpty()) {
                traces.add(id);
            }
        });
        processes.values().stream().filter(FakeProcess::alive).forEach(p -> traces.add(p.launched.workload()));
        return Observation.seen(ImmutableSet.copyOf(traces));
    }

    // --- acting

    @Override
    public Outcome execute(Step step, ObservedWorkload seen) {
        chaos.crashPoint("before " + step.word());
        Outcome outcome = switch (step) {
            case Step.Download download -> download(download);
            case Step.Unpack unpack -> unpack(unpack);
            case Step.Activate activate -> activate(activate);
            case Step.Launch launch -> launch(launch);
            case Step.Start start -> start(start, seen);
            case Step.ApplyConfig apply -> apply(apply, seen);
            case Step.Stop stop -> stop(stop);
            case Step.Remove remove -> remove(remove);
            case Step.CollectGarbage garbage -> collect(garbage);
            case Step.SetLimits limits -> Outcome.done();
            case Step.Wait wait -> throw new AssertionError("a wait was executed");
        };
        if (outcome instanceof Outcome.Done) {
            executed.add(step);
        }
        chaos.crashPoint("after " + step.word());
        return outcome;
    }

    private Outcome download(Step.Download step) {
        if (Behaviour.of(step.key()) == Behaviour.UNFETCHABLE) {
            return new Outcome.Failed("404", chaos.choose(30));
        }
        if (chaos.fault(15)) {
            return new Outcome.Failed("connection reset", false);
        }
        archives.add(step.key());
        return Outcome.done();
    }

    private Outcome unpack(Step.Unpack step) {
        require(archives.contains(step.key()), "unpacked without an archive", step);
        residue.add(step.workload());
        chaos.crashPoint("in the middle of unpacking");
        if (chaos.fault(10)) {
            return new Outcome.Failed("disk full", false);
        }
        installs(step.workload())
                .put(step.directory(), new Installation(step.directory(), step.revision(), step.key(), step.key()));
        return Outcome.done();
    }

    private Outcome activate(Step.Activate step) {
        require(installs(step.workload()).containsKey(step.directory()), "activated what is not installed", step);
        if (chaos.fault(5)) {
            return new Outcome.Failed("read-only file system", false);
        }
        links.put(step.workload(), step.directory());
        return Outcome.done();
    }

    private Outcome launch(Step.Launch step) {
        WorkloadId id = step.workload();
        String directory = step.directory();
        require(living(id).isEmpty(), "two at once", step);
        require(directory == null || installs(id).containsKey(directory), "launched what is not installed", step);
        Handle handle = new Handle(
                "launch-" + nextPid,
                id,
                step.hash(),
                step.declared().revision(),
                directory,
                LaunchInputs.of(step.declared().program()),
                clock.instant(),
                null,
                Handle.StartState.NOT_SENT,
                "");
        forgetTheDead(id);
        store.commit(Change.ofHandle(handle));
        chaos.crashPoint("between writing a launch down and spawning it");
        if (chaos.fault(5)) {
            return new Outcome.Failed("no more processes", false);
        }
        FakeProcess process = new FakeProcess(
                handle,
                new ProcessIdentity(nextPid, nextPid, "boot"),
                clock.instant(),
                Behaviour.of(step.declared().revision()));
        nextPid++;
        processes.put(handle.launchId(), process);
        residue.add(id);
        if (process.behaviour == Behaviour.EXITS_AT_ONCE) {
            process.exit = new Exit(3, null, Exit.Reason.EXITED, clock.instant());
        }
        chaos.crashPoint("between spawning a process and saying so");
        return Outcome.launched(handle.withIdentity(process.identity));
    }

    private void forgetTheDead(WorkloadId id) {
        ImmutableList<Handle> remembered = store.handles(id);
        processes
                .values()
                .removeIf(p -> p.launched.workload().equals(id)
                        && !p.alive()
                        && remembered.stream().noneMatch(h -> h.launchId().equals(p.launched.launchId())));
    }

    private Outcome start(Step.Start step, ObservedWorkload seen) {
        FakeProcess process = only(step.workload(), seen);
        store.commit(
                Change.ofHandle(process.launched.withIdentity(process.identity).withStart(Handle.StartState.SENT, "")));
        if (!process.alive()) {
            return new Outcome.Failed("connection refused", false);
        }
        process.starts++;
        require(process.starts == 1, "started twice", step);
        chaos.crashPoint("between Start and its answer");
        if (process.behaviour == Behaviour.START_ERROR || chaos.fault(5)) {
            return new Outcome.Failed("start refused", false);
        }
        process.configHash = ConfigHash.of(step.config());
        noteWorking(process);
        return Outcome.done();
    }

    private Outcome apply(Step.ApplyConfig step, ObservedWorkload seen) {
        FakeProcess process = only(step.workload(), seen);
        require(process.starts == 1, "configured before it was started", step);
        if (process.behaviour == Behaviour.APPLY_UNSUPPORTED) {
            return new Outcome.Unsupported();
        }
        if (!process.alive() || chaos.fault(10)) {
            return new Outcome.Failed("no answer", false);
        }
        process.configHash = ConfigHash.of(step.config());
        return Outcome.done();
    }

    private Outcome stop(Step.Stop step) {
        FakeProcess process = processes.get(step.handle().launchId());
        if (chaos.fault(5)) {
            return new Outcome.Failed("still there", false);
        }
        if (process != null && process.alive()) {
            process.exit = new Exit(0, null, Exit.Reason.EXITED, clock.instant());
        }
        return Outcome.done("stopped");
    }

    private Outcome remove(Step.Remove step) {
        require(living(step.workload()).isEmpty(), "removed under a running process", step);
        installs(step.workload()).clear();
        chaos.crashPoint("in the middle of removing");
        links.remove(step.workload());
        if (chaos.fault(5)) {
            return new Outcome.Failed("busy", false);
        }
        residue.remove(step.workload());
        lastGood.remove(step.workload());
        return Outcome.done();
    }

    private Outcome collect(Step.CollectGarbage step) {
        for (String directory : step.directories()) {
            require(!directory.equals(lastGood.get(step.workload())), "last known good was given up", step);
            require(
                    living(step.workload()).stream().noneMatch(p -> directory.equals(p.launched.directory())),
                    "collected under a running process",
                    step);
            installs(step.workload()).remove(directory);
            chaos.crashPoint("in the middle of collecting garbage");
        }
        return Outcome.done();
    }

    private void noteWorking(FakeProcess process) {
        String directory = process.launched.directory();
        if (directory != null) {
            lastGood.put(process.launched.workload(), directory);
        }
    }

    // --- what the world does by itself, and what can be asked about it

    /** A process dies by itself; whether the agent notices is its own affair. */
    void kill(WorkloadId id) {
        living(id).forEach(p -> p.exit = new Exit(137, 9, Exit.Reason.SIGNALED, clock.instant()));
    }

    void makeUnhealthy(WorkloadId id) {
        living(id).forEach(p -> p.healthy = false);
    }

    void moveLink(WorkloadId id) {
        links.computeIfPresent(id, (any, link) -> "elsewhere");
    }

    void deleteInstall(WorkloadId id) {
        installs(id).clear();
        lastGood.remove(id);
    }

    List<FakeProcess> living(WorkloadId id) {
        return processes.values().stream()
                .filter(p -> p.launched.workload().equals(id) && p.alive())
                .toList();
    }

    /** The steps that were done since this was last asked. */
    List<Step> drainExecuted() {
        List<Step> steps = List.copyOf(executed);
        executed.clear();
        return steps;
    }

    private FakeProcess only(WorkloadId id, ObservedWorkload seen) {
        if (!(seen.processes() instanceof Observation.Seen<ImmutableList<ObservedProcess>>(var all))
                || all.size() != 1) {
            throw new AssertionError(
                    "a step for the only process of " + id + ", but there is not exactly one: " + seen);
        }
        FakeProcess process = processes.get(all.get(0).handle().launchId());
        if (process == null) {
            throw new AssertionError("no such process: " + all);
        }
        return process;
    }

    private Map<String, Installation> installs(WorkloadId id) {
        return installs.computeIfAbsent(id, any -> new TreeMap<>());
    }

    private static void require(boolean condition, String violation, Object where) {
        if (!condition) {
            throw new AssertionError(violation + ": " + where);
        }
    }
}
