package io.homeostat.reconcile.sim;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedSet;
import io.homeostat.desired.model.Lifecycle.Limits;
import io.homeostat.desired.model.ProgramUser;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.model.WorkloadSpec;
import io.homeostat.desired.state.Identity;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.observe.Observation;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.observe.ObservedInstance.Deviation;
import io.homeostat.observe.ObservedInstance.Liveness;
import io.homeostat.observe.ObservedWorkload;
import io.homeostat.observe.Observer;
import io.homeostat.observe.Observer.Checks;
import io.homeostat.observe.files.FileContent;
import io.homeostat.observe.health.Health;
import io.homeostat.observe.health.Health.Verdict;
import io.homeostat.observe.host.HostFacts;
import io.homeostat.observe.host.HostFacts.HostFact;
import io.homeostat.observe.limits.ObservedLimits;
import io.homeostat.observe.limits.ObservedLimits.LimitObstacles;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeSet;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Looks at the fake machine by the rules of the real observer. What it says it has seen was so at that moment; each aspect by itself
 * may be unseen. A launch that is remembered is never left out, and only one whose process is known to be gone has ended: whoever
 * can't tell says Unseen. The aspects need not fit together, because the world does not stand still between them.
 */
final class FakeObserver implements Observer {
    /** What counts as a failed check. */
    private static final ImmutableSet<Verdict> DOUBTS = ImmutableSet.of(Verdict.UNHEALTHY, Verdict.HUNG, Verdict.GONE);

    /** A launch that is younger and of which there is no trace may be about to appear; by the wall clock, as in reality. */
    private static final Duration YOUNG = Duration.ofSeconds(2);

    private final FaultInjector faults;
    private final VirtualClock clock;
    private final FakeDisk disk;
    private final FakeProcesses processes;
    private final FakeHost host;
    private final TrueRuns runs;

    FakeObserver(
            FaultInjector faults,
            VirtualClock clock,
            FakeDisk disk,
            FakeProcesses processes,
            FakeHost host,
            TrueRuns runs) {
        this.faults = faults;
        this.clock = clock;
        this.disk = disk;
        this.processes = processes;
        this.host = host;
        this.runs = runs;
    }

    @Override
    public ObservedWorkload look(WorkloadId id, ImmutableList<Instance> instances, Checks checks) {
        processes.settle();
        return new ObservedWorkload(
                id,
                unless(
                        Fault.INSTALLATIONS_UNSEEN,
                        id,
                        () -> ImmutableList.copyOf(disk.installs(id).values())),
                unless(Fault.LINK_UNSEEN, id, () -> Optional.ofNullable(disk.links.get(id))),
                isUntold(id, instances)
                        ? Observation.unseen("its driver does not run")
                        : unless(Fault.PROCESSES_UNSEEN, id, () -> launches(id, instances, checks)),
                unless(Fault.LIMITS_UNSEEN, id, () -> limits(id)),
                unless(Fault.RESIDUE_UNSEEN, id, () -> disk.residue.contains(id)));
    }

    @Override
    public boolean isGone(Instance instance) {
        processes.settle();
        Liveness liveness = liveness(instance, true, null);
        return liveness instanceof Liveness.Ended || liveness instanceof Liveness.Orphaned;
    }

    /** Whether only its driver knows how a task has ended, and is not there to be asked. */
    private boolean isUntold(WorkloadId id, ImmutableList<Instance> instances) {
        return Kinds.isTask(id)
                && !processes.isDriven()
                && disk.hasTraceOf(FakeProcesses.DRIVER)
                && instances.stream()
                        .filter(instance -> !instance.isOver())
                        .map(instance -> processes.of(instance.launchId()))
                        .anyMatch(process -> process != null
                                && process.bootId.equals(processes.bootId())
                                && process.exit != null
                                && !process.endNoted);
    }

    private ObservedLimits limits(WorkloadId id) {
        Limits inForce = processes.living(id).stream()
                .map(process -> process.limits)
                .reduce(Limits.NONE, (older, newer) -> newer);
        return new ObservedLimits(inForce, ImmutableSortedSet.of(), LimitObstacles.NONE);
    }

    private <T> Observation<T> unless(Fault fault, WorkloadId id, Supplier<T> look) {
        return faults.strikes(fault, id) ? Observation.unseen("permission denied") : Observation.seen(look.get());
    }

    private ImmutableList<ObservedInstance> launches(WorkloadId id, ImmutableList<Instance> instances, Checks checks) {
        List<ObservedInstance> seen = new ArrayList<>();
        for (Instance instance : instances) {
            seen.add(observed(instance, true, liveness(instance, true, checks.of(instance))));
        }
        for (FakeProcess process : processes.launches(id)) {
            Instance note = process.note;
            if (instances.stream().noneMatch(instance -> instance.launchId().equals(note.launchId()))) {
                seen.add(new ObservedInstance(note, false, liveness(note, false, checks.of(note))));
            }
        }
        seen.sort(Comparator.comparing(process -> process.instance().launchedAt()));
        return ImmutableList.copyOf(seen);
    }

    /** Of what is over, it is said who it was. */
    private ObservedInstance observed(Instance instance, boolean remembered, Liveness liveness) {
        FakeProcess process = processes.of(instance.launchId());
        Identity born = process != null && process.identityOnDisk ? process.named() : null;
        boolean over = liveness instanceof Liveness.Ended || liveness instanceof Liveness.Orphaned;
        boolean tellsWho = instance.identity() == null && born != null && over;
        return new ObservedInstance(
                tellsWho ? instance.withIdentity(Objects.requireNonNull(born)) : instance, remembered, liveness);
    }

    private Liveness liveness(Instance instance, boolean remembered, @Nullable WorkloadSpec spec) {
        FakeProcess process = processes.of(instance.launchId());
        ProcessIdentity identity = instance.process();
        if (identity == null && process != null && process.identityOnDisk) {
            identity = process.identity;
        }
        if (process != null && process.runsNow()) {
            disk.worked(process);
            // What is over and remembered by nobody may have been anything.
            if (identity != null && (remembered || processes.runs(identity))) {
                runs.begun(instance, process.bootId);
            }
        }
        if (process != null && process.isDone() && process.behaviour == Behaviour.COMPLETES && process.hasBegun()) {
            disk.worked(process);
        }
        if (identity == null || process == null) {
            return unborn(instance, process);
        }
        if (processes.runs(identity)) {
            return running(instance, process, spec);
        }
        Exit exit = recorded(process);
        return process.survivors == 0 ? new Liveness.Ended(exit) : new Liveness.Orphaned(exit, process.survivors);
    }

    private Liveness unborn(Instance instance, @Nullable FakeProcess process) {
        boolean otherBoot = process != null && !process.bootId.equals(processes.bootId());
        if (process != null && (otherBoot || process.exit != null)) {
            return new Liveness.Ended(recorded(process));
        }
        boolean young =
                Duration.between(instance.launchedAt(), clock.instant()).abs().compareTo(YOUNG) < 0;
        return young || process != null ? new Liveness.Pending() : new Liveness.Ended(unknown());
    }

    private Exit recorded(FakeProcess process) {
        Exit exit = process.exit;
        return exit != null && process.exitOnDisk ? exit : unknown();
    }

    private Exit unknown() {
        return new Exit(null, null, Exit.Reason.UNKNOWN, clock.instant());
    }

    private Liveness running(Instance instance, FakeProcess process, @Nullable WorkloadSpec spec) {
        Identity name = Objects.requireNonNull(process.named());
        long age = clock.steadyMillis() - process.bornAt;
        boolean listens = age >= process.behaviour.listensAfter();
        boolean plugin = Kinds.isToldToStart(instance.workload());
        boolean stayedAlive = age >= Duration.ofSeconds(1).toMillis();
        // What is asked where it does not listen has not proved itself, however well it does.
        boolean proves = process.behaviour != Behaviour.NEVER_LISTENS
                && (stayedAlive || listens)
                && (spec == null || answers(process, spec, listens));
        if (!plugin && proves) {
            disk.worked(process);
        }
        if (Kinds.isContainer(instance.workload())
                && !processes.isKnownToItsAgent(FakeProcess.parent(process.launched))) {
            // What it is like nobody can tell.
            return running(process, name, age, true, spec == null ? null : health(Verdict.DEGRADED, 0));
        }
        if (instance.phase() == Phase.STARTED && !process.lost.isEmpty()) {
            return bereft(process, Duration.ofMillis(age), spec);
        }
        if (spec == null || (plugin && instance.phase() != Phase.STARTED)) {
            return running(process, name, age, listens || !plugin, null);
        }
        Invariant.NOTHING_BEFORE_START.require(
                !plugin || process.starts == 1, () -> "health was asked of a plugin that was not started: " + process);
        Health health = health(process, answers(process, spec, listens), instance.workload(), process.code(age));
        return running(process, name, age, listens || !plugin, health);
    }

    private static Liveness running(
            FakeProcess process, Identity name, long age, boolean listening, @Nullable Health health) {
        Deviation deviation = process.deviates
                ? new Deviation(ImmutableList.of("somebody has changed it"), ImmutableList.of())
                : Deviation.NONE;
        return new Liveness.Running(name, Duration.ofMillis(age), listening, health, ImmutableSet.of(), deviation);
    }

    /** A started process that has lost a file; nobody can ask it without its socket. */
    private Liveness bereft(FakeProcess process, Duration age, @Nullable WorkloadSpec spec) {
        boolean unreachable = process.lost.contains(ObservedInstance.Loss.SOCKET);
        boolean forgotten = process.lost.contains(ObservedInstance.Loss.GUEST_AGENT)
                || process.lost.contains(ObservedInstance.Loss.SHARED_PIDS);
        Verdict verdict = unreachable ? Verdict.UNKNOWN : forgotten ? Verdict.DEGRADED : process.feels;
        process.doubted |= DOUBTS.contains(verdict);
        Health health = health(verdict, process.code(age.toMillis()));
        return new Liveness.Running(
                Objects.requireNonNull(process.named()),
                age,
                !unreachable,
                spec == null ? null : health,
                ImmutableSet.copyOf(process.lost));
    }

    private static boolean answers(FakeProcess process, WorkloadSpec spec, boolean listens) {
        WorkloadId id = process.launched.workload();
        if (Kinds.isToldToStart(id) || Kinds.isSandbox(id)) {
            return listens;
        }
        return Declarations.address(spec.probe())
                .map(address -> listens && address.equals(Declarations.address(process.launched.revision())))
                .orElse(true);
    }

    private Health health(FakeProcess process, boolean ready, WorkloadId id, int code) {
        Verdict verdict = ready ? process.feels : Verdict.UNHEALTHY;
        if (faults.strikes(Fault.HEALTH_UNKNOWN, id)) {
            verdict = Verdict.UNKNOWN;
        } else if (faults.strikes(Fault.HEALTH_ANSWER_LATE, id)) {
            verdict = Verdict.HUNG;
        }
        process.doubted |= DOUBTS.contains(verdict);
        return health(verdict, code);
    }

    private Health health(Verdict verdict, int code) {
        return verdict == Verdict.HEALTHY
                ? new Health(verdict, code, ImmutableList.of(), "", clock.instant())
                : Health.failed(verdict, "says no at " + clock.instant(), clock.instant());
    }

    @Override
    public ImmutableMap<String, FileContent> files(@Nullable ProgramUser user, ImmutableSet<String> paths) {
        return disk.files(paths);
    }

    @Override
    public HostFacts host(ImmutableSet<HostFact> asked) {
        // DeclaredSnapshot in the name of no workload.
        return new HostFacts(
                Observation.seen(processes.bootId()),
                "instance",
                host.answers(asked, fact -> faults.strikes(Fault.FACT_UNSEEN, Scenario.IDS.get(0))));
    }

    @Override
    public Observation<ImmutableSet<String>> archives() {
        // DeclaredSnapshot in the name of no workload.
        return unless(Fault.ARCHIVES_UNSEEN, Scenario.IDS.get(0), () -> ImmutableSet.copyOf(disk.archives));
    }

    @Override
    public Observation<ImmutableSet<WorkloadId>> traces() {
        processes.settle();
        TreeSet<WorkloadId> traces = new TreeSet<>();
        for (WorkloadId id : Scenario.IDS) {
            if (disk.hasTraceOf(id) || !processes.present(id).isEmpty()) {
                traces.add(id);
            }
        }
        return Observation.seen(ImmutableSet.copyOf(traces));
    }
}
