package io.homeostat.reconcile.agent.frontend;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.reconcile.command.Command;
import io.homeostat.reconcile.command.environment.CommandFailure;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** An agent in memory: it stores what is declared, and a test decides what it observes. */
public final class FakeAgent implements FrontEndAgent {
    /** The number of the process of each workload that runs; no process of this machine has it. */
    public static final long PROCESS = 2_000_000_321;

    private final Layout layout;
    private final Gate gate;
    private final Map<String, String> declared = new LinkedHashMap<>();
    private final List<WorkloadId> withdrawn = new CopyOnWriteArrayList<>();
    private final List<WorkloadLook> former = new CopyOnWriteArrayList<>();
    private final Map<WorkloadId, WorkloadLook> present = new ConcurrentHashMap<>();
    private final List<BlockingQueue<WorkloadLook>> followers = new CopyOnWriteArrayList<>();
    private final List<ImmutableList<WorkloadId>> followed = new CopyOnWriteArrayList<>();
    private final Map<String, Deque<CommandFailure>> failures = new ConcurrentHashMap<>();
    private volatile Runnable beforeEach = () -> {};
    private volatile Reaction onDeclare = origin -> {};
    private volatile Reaction onWithdraw = workload -> {};

    /** Something that happens in the machine because of a call. */
    public interface Reaction {
        void to(String what);
    }

    public FakeAgent(Layout layout) {
        this(layout, new Gate());
    }

    public FakeAgent(Layout layout, Gate gate) {
        this.layout = layout;
        this.gate = gate;
    }

    /** A state in which a workload is known; over and with an exit status if there is one. */
    public static WorkloadLook seen(WorkloadId workload, @Nullable Integer exit, String problem) {
        boolean over = exit != null;
        return new WorkloadLook(
                workload,
                true,
                over,
                over ? null : new ProcessIdentity(PROCESS, 77, "boot"),
                over ? null : Instant.EPOCH,
                over ? new WorkloadLook.End(exit, 0, "EXITED", Instant.EPOCH) : null,
                false,
                problem,
                0,
                Path.of("/log"));
    }

    /** A state in which nothing is known of a workload. */
    public static WorkloadLook unknown(WorkloadId workload) {
        return new WorkloadLook(workload, false, false, null, null, null, false, "", 0, Path.of("/log"));
    }

    /** The next call of this method fails. */
    public void failNext(String method, String message) {
        failures.computeIfAbsent(method, one -> new ArrayDeque<>()).add(new CommandFailure(message));
    }

    /** Calls this before each call. */
    public void beforeEach(Runnable check) {
        beforeEach = check;
    }

    public void onDeclare(Reaction reaction) {
        onDeclare = reaction;
    }

    public void onWithdraw(Reaction reaction) {
        onWithdraw = reaction;
    }

    public void addFormer(WorkloadLook look) {
        former.add(look);
    }

    /** Sets the present state, without a report to those who follow. */
    public void set(WorkloadLook look) {
        present.put(look.workload(), look);
    }

    /** Sets the present state and reports it to those who follow. */
    public void change(WorkloadLook look) {
        set(look);
        reportLate(look);
    }

    /** Reports a state that was true before to those who follow now. */
    public void reportLate(WorkloadLook look) {
        followers.forEach(one -> one.add(look));
    }

    public Map<String, String> declared() {
        synchronized (declared) {
            return new LinkedHashMap<>(declared);
        }
    }

    public List<WorkloadId> withdrawn() {
        return withdrawn;
    }

    /** Returns what was followed, call by call. */
    public List<ImmutableList<WorkloadId>> followed() {
        return followed;
    }

    private void failIfTold(String method) {
        beforeEach.run();
        Deque<CommandFailure> told = failures.get(method);
        CommandFailure failure;
        if (told == null) {
            return;
        }
        synchronized (told) {
            failure = told.poll();
        }
        if (failure != null) {
            throw failure;
        }
    }

    @Override
    public Layout layout() {
        return layout;
    }

    @Override
    public void declare(String origin, String document) {
        gate.enter();
        try {
            failIfTold("declare");
            synchronized (declared) {
                declared.put(origin, document);
            }
            onDeclare.to(origin);
        } finally {
            gate.leave();
        }
    }

    @Override
    public void withdraw(WorkloadId workload) {
        gate.enter();
        try {
            failIfTold("withdraw");
            withdrawn.add(workload);
            present.remove(workload);
            onWithdraw.to(workload.toString());
        } finally {
            gate.leave();
        }
    }

    @Override
    public WorkloadLook look(WorkloadId workload) {
        failIfTold("look");
        WorkloadLook look = present.get(workload);
        return look == null ? unknown(workload) : look;
    }

    @Override
    public void follow(ImmutableList<WorkloadId> workloads, Predicate<WorkloadLook> goesOn)
            throws InterruptedException {
        failIfTold("follow");
        followed.add(workloads);
        BlockingQueue<WorkloadLook> changes = new LinkedBlockingQueue<>();
        followers.add(changes);
        try {
            for (WorkloadId workload : workloads) {
                WorkloadLook now = present.get(workload);
                if (now != null && !goesOn.test(now)) {
                    return;
                }
            }
            while (goesOn.test(changes.take())) {
                // The next change.
            }
        } finally {
            followers.remove(changes);
        }
    }

    /** Returns how many follow workloads now. */
    public int followers() {
        return followers.size();
    }

    @Override
    public List<WorkloadLook> former(String origin) {
        failIfTold("former");
        return former;
    }

    @Override
    public void resume(String origin, WorkloadId workload) {
        throw new UnsupportedOperationException("no test needs it");
    }

    @Override
    public void run(Command command) {
        throw new UnsupportedOperationException("no test needs it");
    }
}
