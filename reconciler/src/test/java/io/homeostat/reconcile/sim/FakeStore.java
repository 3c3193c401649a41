package io.homeostat.reconcile.sim;

import com.google.common.collect.ArrayListMultimap;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ListMultimap;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.desired.state.StateStore.Change;
import io.homeostat.desired.state.StoreException;
import io.homeostat.desired.state.history.RunRecord.Completed;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.desired.state.history.WorkloadHistory.LastKnownGood;
import io.homeostat.reconcile.plan.Work;
import java.util.HashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A store that outlives the simulated agent, and keeps what a commit returned from. When the agent dies in a commit, the change is
 * there or it isn't, as a whole. Whatever is written down is compared with what is true of the machine.
 */
final class FakeStore extends MemoryStore {
    private final FaultInjector faults;
    private final FakeDisk disk;
    private final FakeProcesses processes;
    private final TrueRuns runs;
    private long seed;
    private int commits;
    private boolean lost;
    /** Whose history was changed from outside since the agent last read it. */
    private final ListMultimap<WorkloadId, LastKnownGood> good = ArrayListMultimap.create();

    private final Set<WorkloadId> amended = new HashSet<>();

    FakeStore(FaultInjector faults, FakeDisk disk, FakeProcesses processes, TrueRuns runs, long seed) {
        this.faults = faults;
        this.disk = disk;
        this.processes = processes;
        this.runs = runs;
        this.seed = seed;
    }

    /** The database is set aside; an empty one takes its place. */
    void lose() {
        clear();
        runs.forget();
        amended.clear();
        good.clear();
        seed++;
        lost = true;
    }

    /** Whether it ever was. */
    boolean wasLost() {
        return lost;
    }

    /** Somebody has changed what is remembered of a workload, from outside the passes. */
    void amended(WorkloadId id) {
        amended.add(id);
    }

    @Override
    public synchronized WorkloadHistory history(WorkloadId id) {
        amended.remove(id);
        return remembered(id);
    }

    /** All that a workload has ever been seen well as, the newest last. */
    ImmutableList<LastKnownGood> good(WorkloadId id) {
        return ImmutableList.copyOf(good.get(id));
    }

    /** The same for those who are no part of the agent. */
    synchronized WorkloadHistory remembered(WorkloadId id) {
        return super.history(id);
    }

    /** How often anything was written down. */
    int commits() {
        return commits;
    }

    @Override
    public long seed() {
        return seed;
    }

    @Override
    public synchronized void commit(Change change) {
        faults.agentMayDie(Fault.AGENT_DIES_BEFORE_A_COMMIT, change.workload(), "before a commit");
        if (faults.strikes(Fault.STORE_FAILS, change.workload())) {
            throw new StoreException("no space left on device");
        }
        compareWithTheMachine(change);
        change.events()
                .forEach(event ->
                        Invariant.EVENTS_SAY_SOMETHING.require(!event.message().isBlank(), event::toString));
        commits++;
        super.commit(change);
        change.instances().stream()
                .filter(instance -> instance.workload().kind().equals(Kind.PLUGIN)
                        && instance.phase() == Phase.STARTED
                        && Work.isOneShot(instance))
                .forEach(instance -> runs.begun(instance, processes.bootId()));
        runs.written(change);
        faults.agentMayDie(Fault.AGENT_DIES_AFTER_A_COMMIT, change.workload(), "after a commit");
    }

    private void compareWithTheMachine(Change change) {
        change.ended().forEach(this::requireOver);
        change.instances().stream()
                .filter(Instance::isOver)
                .map(Instance::launchId)
                .forEach(this::requireOver);
        WorkloadHistory next = change.history();
        if (next != null || change.dropHistory()) {
            Invariant.WHAT_IS_ASKED_FOR_STAYS.require(
                    !amended.contains(change.workload()), () -> "written back as it was read before: " + next);
        }
        if (next != null && !change.dropHistory()) {
            compare(change, remembered(change.workload()).lastKnownGood(), next.lastKnownGood());
            requireDone(
                    remembered(change.workload()).run().completed(), next.run().completed());
        }
    }

    private void requireDone(@Nullable Completed before, @Nullable Completed after) {
        if (after != null && !after.equals(before)) {
            FakeProcess process = processes.of(after.launchId());
            Invariant.COMPLETED_BY_ITSELF.require(
                    process != null && process.isDone(), () -> after + " is written down of " + process);
        }
    }

    private void requireOver(String launchId) {
        FakeProcess process = processes.of(launchId);
        Invariant.NOTHING_ALIVE_IS_FORGOTTEN.require(
                process == null || !process.present(), () -> "written down as ended: " + process);
    }

    private void compare(Change change, @Nullable LastKnownGood before, @Nullable LastKnownGood after) {
        Invariant.LAST_GOOD_KEPT.require(
                before == null || after != null, () -> "the last good revision is forgotten: " + before);
        if (after != null && !after.equals(before)) {
            Invariant.PROVEN_HAS_WORKED.require(
                    disk.hasWorked(change.workload(), after.workload().revision()),
                    () -> "written down as good, but has never worked: " + after);
            good.put(change.workload(), after);
        }
    }
}
