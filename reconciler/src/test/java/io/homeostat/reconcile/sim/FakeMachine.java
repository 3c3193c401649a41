package io.homeostat.reconcile.sim;

import io.homeostat.desired.model.Lifecycle.Restart.Policy;
import io.homeostat.desired.model.ProcessSpec;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import java.util.List;
import java.util.Optional;

/** A machine behind the interfaces of the real one: its files, its processes, and those who look at it and act on it. */
final class FakeMachine {
    final FakeDisk disk = new FakeDisk();
    final FakeHost host = new FakeHost();
    final TrueRuns runs = new TrueRuns();
    final FakeProcesses processes;
    final DeclaredSnapshot asked;
    final FakeStore store;
    final FakeObserver observer;
    final FakeExecutor executor;
    final StepConstraints restraints;
    final StepRules rules;

    /** @param desired what is wanted of it; the agent is to ask {@link #asked} instead */
    FakeMachine(FaultInjector faults, VirtualClock clock, Declarations desired, long seed) {
        asked = new DeclaredSnapshot(desired);
        processes = new FakeProcesses(clock);
        store = new FakeStore(faults, disk, processes, runs, seed);
        observer = new FakeObserver(faults, clock, disk, processes, host, runs);
        restraints = new StepConstraints(asked, disk, processes, store, clock);
        rules = new StepRules(disk, processes, asked, store, runs, restraints, clock);
        executor = new FakeExecutor(faults, clock, disk, processes, rules, store);
    }

    List<FakeProcess> living(WorkloadId id) {
        processes.settle();
        return processes.living(id);
    }

    /** Whether the database or the disk says that a launch became a process. */
    boolean remembers(WorkloadId id, String launchId) {
        FakeProcess process = processes.of(launchId);
        return (process != null && process.identityOnDisk)
                || store.instances(id).stream()
                        .anyMatch(instance -> instance.launchId().equals(launchId) && instance.identity() != null)
                || Optional.ofNullable(store.remembered(id).run().oneShot())
                        .filter(run -> launchId.equals(run.launchId()))
                        .isPresent();
    }

    void kill(WorkloadId id, int survivors) {
        living(id).forEach(process -> processes.kill(process, survivors));
    }

    /** What a declared workload is like on this machine. */
    Behaviour behaviour(Workload workload) {
        Behaviour own = disk.behaviour(workload.id(), workload.revision());
        boolean foundByItsProbe = !(workload.spec() instanceof ProcessSpec process)
                || Declarations.address(process.probe())
                        .map(Declarations.address(workload.revision())::equals)
                        .orElse(true);
        // For whoever asks elsewhere it listens nowhere.
        return own.startsWell() && !foundByItsProbe ? Behaviour.NEVER_LISTENS : own;
    }

    /** Whether a declared workload can be brought about and stays so. */
    boolean works(Workload workload) {
        return behaviour(workload).isGood() || completes(workload);
    }

    /** Whether it ends by itself, and then rests. */
    boolean completes(Workload workload) {
        return mayComplete(workload) && behaviour(workload) == Behaviour.COMPLETES;
    }

    static boolean mayComplete(Workload workload) {
        return !workload.isOneShot() && workload.lifecycle().restart().policy() == Policy.ON_FAILURE;
    }
}
