package io.homeostat.reconcile.sim;

import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.history.Exit;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** The processes of the fake machine, ours and others', and the numbers they have. Numbers are few, so that they come again. */
final class FakeProcesses {
    private static final long FIRST_PID = 100;
    private static final long LAST_PID = 115;
    private static final long MILLIS_A_TICK = 10;
    private static final int KILL = 9;

    /** Of all tasks. */
    static final WorkloadId DRIVER = new WorkloadId(Kind.DRIVER, Wish.DRIVER);

    /** In which a guest runs that is declared so. */
    static final WorkloadId MONITOR = WorkloadId.process("gamma");

    /** Of all containers. */
    static final WorkloadId SANDBOX = new WorkloadId(Kind.SANDBOX, Wish.SANDBOX);

    private final VirtualClock clock;
    private final Map<String, FakeProcess> launches = new LinkedHashMap<>();
    /** Who is alive under which number. */
    private final Map<Long, ProcessIdentity> inhabitants = new HashMap<>();

    /** What is left of what has ended until it is removed, by launch id. */
    final Map<String, WorkloadId> remains = new HashMap<>();

    /** Notes whose removal is not durable. */
    private final List<FakeProcess> forgotten = new ArrayList<>();

    /** All that have ended, whether there are notes of them or not. */
    private final List<FakeProcess> ended = new ArrayList<>();

    private int boots = 1;
    private long bootedAt;
    private long nextPid = FIRST_PID;
    private int launched;

    FakeProcesses(VirtualClock clock) {
        this.clock = clock;
    }

    String bootId() {
        return "boot" + boots;
    }

    /** How many processes were ever launched. */
    int count() {
        return launched;
    }

    /** Begins a launch; its process appears later. */
    FakeProcess launch(Instance instance, Behaviour behaviour, long bornAt) {
        FakeProcess process = new FakeProcess(instance, behaviour, bootId(), bornAt);
        launches.put(instance.launchId(), process);
        if (Kinds.leavesRemains(instance.workload())) {
            remains.put(instance.launchId(), instance.workload());
        }
        return process;
    }

    /** Lets happen what is due: births, and ends that need nobody else. */
    void settle() {
        long now = clock.steadyMillis();
        for (FakeProcess process : launches.values()) {
            if (process.unborn() && process.bornAt <= now) {
                if (isPlaceGone(process)) {
                    end(process, gone(), 0);
                    continue;
                }
                process.identity = inhabit();
                launched++;
            }
            long lives = process.livesFor();
            if (process.alive() && lives != Long.MAX_VALUE && process.bornAt + lives <= now) {
                int code = process.behaviour == Behaviour.FINISHES || process.behaviour == Behaviour.COMPLETES ? 0 : 3;
                end(process, new Exit(code, null, Exit.Reason.EXITED, clock.instant()), 0);
            }
        }
    }

    /** When the next process of a workload will end by itself. */
    long nextEnd(WorkloadId id) {
        long next = Long.MAX_VALUE;
        for (FakeProcess process : launches.values()) {
            long lives = process.livesFor();
            if (process.launched.workload().equals(id) && process.exit == null && lives != Long.MAX_VALUE) {
                next = Math.min(next, process.bornAt + lives);
            }
        }
        return next;
    }

    @Nullable
    FakeProcess of(String launchId) {
        return launches.get(launchId);
    }

    /** Every launch of a workload of which there are notes, oldest first. */
    List<FakeProcess> launches(WorkloadId id) {
        return launches.values().stream()
                .filter(process -> process.launched.workload().equals(id))
                .toList();
    }

    /** Whether it has ended well in this boot, as that workload and by itself. */
    boolean hasCompleted(Workload workload) {
        return ended.stream()
                .anyMatch(process -> process.launched.workload().equals(workload.id())
                        && process.isDone()
                        && process.bootId.equals(bootId())
                        && FakeProcess.isLaunchedAs(workload, process.launched));
    }

    /** What an agent was ending when it died is, for the next one, something that ended by itself. */
    void forgetWhoStopped() {
        launches.values().forEach(process -> process.stopped = false);
    }

    List<FakeProcess> living(WorkloadId id) {
        return launches(id).stream().filter(FakeProcess::alive).toList();
    }

    /** Launches of which anything runs or is about to. */
    List<FakeProcess> present(WorkloadId id) {
        return launches(id).stream().filter(FakeProcess::present).toList();
    }

    /** Whether a driver runs that was told to start, which is when it takes tasks up. */
    boolean isDriven() {
        return launches.values().stream()
                .anyMatch(process -> process.launched.workload().equals(DRIVER)
                        && process.alive()
                        && process.starts > 0
                        && process.behaviour != Behaviour.START_ERROR);
    }

    boolean runs(ProcessIdentity identity) {
        return identity.equals(inhabitants.get(identity.pid()));
    }

    void kill(FakeProcess process, int survivors) {
        end(process, new Exit(128 + KILL, KILL, Exit.Reason.SIGNALED, clock.instant()), survivors);
    }

    void end(FakeProcess process, Exit exit, int survivors) {
        if (process.alive() && process.identity != null) {
            inhabitants.remove(process.identity.pid());
        }
        process.exit = exit;
        ended.add(process);
        process.endedAt = clock.steadyMillis();
        process.survivors = survivors;
        for (FakeProcess part : launches.values()) {
            if (part.isIn(process)) {
                part.survivors = 0;
                if (part.alive()) {
                    end(part, gone(), 0);
                }
            }
        }
    }

    private Exit gone() {
        return new Exit(null, null, Exit.Reason.GUEST_GONE, clock.instant());
    }

    /** Whether that has ended what it is being made in. */
    private boolean isPlaceGone(FakeProcess process) {
        return Kinds.isContainer(process.launched.workload()) && !isAlive(FakeProcess.parent(process.launched))
                || process.hosts.stream().anyMatch(host -> living(host).isEmpty());
    }

    /** Whether a launch is there and has not ended. */
    boolean isAlive(String launchId) {
        FakeProcess process = launches.get(launchId);
        return process != null && process.alive();
    }

    /** Whether the agent that has made a sandbox still answers for it. */
    boolean isKnownToItsAgent(String launchId) {
        FakeProcess sandbox = launches.get(launchId);
        return sandbox != null && sandbox.alive() && sandbox.lost.isEmpty();
    }

    /** Ends whoever bears this identity; whoever else has its number by now is not concerned. */
    void signal(ProcessIdentity identity) {
        if (!runs(identity)) {
            return;
        }
        FakeProcess ours = launches.values().stream()
                .filter(process -> identity.equals(process.identity))
                .findFirst()
                .orElseThrow(() -> new Invariant.Violation(Invariant.NEVER_A_FOREIGN_PROCESS, "killed " + identity));
        ours.signalled |= ours.alive();
        end(ours, new Exit(0, null, Exit.Reason.EXITED, clock.instant()), ours.survivors);
    }

    /** The process of a workload dies, and somebody else gets its number. */
    void recycle(WorkloadId id) {
        for (FakeProcess process : launches(id)) {
            ProcessIdentity identity = process.identity;
            if (identity != null && process.alive()) {
                kill(process, 0);
                inhabitants.put(
                        identity.pid(), new ProcessIdentity(identity.pid(), identity.startTicks() + 1, bootId()));
            }
        }
    }

    /** All are gone, and in the next boot others have their numbers, down to the tick in which they began. */
    void reboot() {
        inhabitants.clear();
        boots++;
        bootedAt = clock.steadyMillis();
        nextPid = FIRST_PID;
        for (FakeProcess process : launches.values()) {
            ProcessIdentity identity = process.identity;
            if (process.exit == null) {
                process.exit = new Exit(null, null, Exit.Reason.UNKNOWN, clock.instant());
                process.exitOnDisk = false;
            }
            process.survivors = 0;
            if (identity != null) {
                inhabitants.put(identity.pid(), new ProcessIdentity(identity.pid(), identity.startTicks(), bootId()));
            }
        }
    }

    /** Removes the notes on launches that are over, but for these. */
    void forgetAllBut(Set<String> launchIds, WorkloadId id) {
        launches.values().removeIf(process -> {
            boolean goes = process.launched.workload().equals(id) && !launchIds.contains(process.launched.launchId());
            return goes && forgotten.add(process);
        });
    }

    /** The directory of a workload's notes is synced. */
    void syncNotes(WorkloadId id) {
        forgotten.removeIf(process -> process.launched.workload().equals(id));
    }

    /** Notes that were removed, and not durably, are there again: what they say of the launch itself, which was synced. */
    void comeBack(Predicate<WorkloadId> which) {
        for (FakeProcess process : forgotten) {
            if (which.test(process.launched.workload())) {
                process.identityOnDisk = false;
                process.exitOnDisk = false;
                launches.put(process.launched.launchId(), process);
            }
        }
        forgotten.clear();
    }

    private ProcessIdentity inhabit() {
        // The others come and go: whoever has had a number for long has left it.
        if (inhabitants.size() > (LAST_PID - FIRST_PID) / 2) {
            inhabitants
                    .values()
                    .removeIf(identity -> launches.values().stream()
                            .noneMatch(process -> process.alive() && identity.equals(process.identity)));
        }
        while (inhabitants.containsKey(nextPid)) {
            nextPid = nextPid == LAST_PID ? FIRST_PID : nextPid + 1;
        }
        long ticks = (clock.steadyMillis() - bootedAt) / MILLIS_A_TICK;
        ProcessIdentity identity = new ProcessIdentity(nextPid, ticks, bootId());
        inhabitants.put(nextPid, identity);
        nextPid = nextPid == LAST_PID ? FIRST_PID : nextPid + 1;
        return identity;
    }
}
