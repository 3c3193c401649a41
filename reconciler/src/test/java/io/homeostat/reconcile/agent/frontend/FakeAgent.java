package io.homeostat.reconcile.agent.frontend;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.reconcile.agent.api.ApiException;
import io.homeostat.reconcile.command.Command;
import io.homeostat.reconcile.command.HoldCommand;
import io.homeostat.reconcile.command.environment.CommandFailure;
import java.nio.file.Path;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;
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
    private final List<String> calls = new CopyOnWriteArrayList<>();
    private final List<HoldCommand> holds = new CopyOnWriteArrayList<>();
    private final Map<WorkloadId, Queue<WorkloadLook>> nextLooks = new ConcurrentHashMap<>();
    private final Map<String, Runnable> hooks = new ConcurrentHashMap<>();
    private final AtomicInteger endingFollows = new AtomicInteger();
    private final Map<String, Queue<CommandFailure>> failures = new ConcurrentHashMap<>();
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

    /** A state in which a workload is declared and has no process yet. */
    public static WorkloadLook pending(WorkloadId workload) {
        return new WorkloadLook(workload, true, false, null, null, null, false, "", 0, Path.of("/log"));
    }

    /** A state in which nothing is known of a workload. */
    public static WorkloadLook unknown(WorkloadId workload) {
        return new WorkloadLook(workload, false, false, null, null, null, false, "", 0, Path.of("/log"));
    }

    /** Returns the failure of a call that may have been done all the same. */
    public static CommandFailure unanswered() {
        return new CommandFailure("no answer", new ApiException(ApiException.Kind.LOST, "lost", null));
    }

    public static CommandFailure refused() {
        return new CommandFailure("refused");
    }

    /** The next call of this method fails. */
    public void failNext(String method, String message) {
        failNext(method, new CommandFailure(message));
    }

    /** The next calls of this method fail. */
    public void failNext(String method, CommandFailure... all) {
        failures.computeIfAbsent(method, one -> new ConcurrentLinkedQueue<>()).addAll(List.of(all));
    }

    /** The next looks return these; later looks return the present state. */
    public void nextLooks(WorkloadLook... all) {
        nextLooks.put(all[0].workload(), new ConcurrentLinkedQueue<>(List.of(all)));
    }

    /** The next calls of {@link #follow} end at once, as when an agent stops. */
    public void endNextFollows(int number) {
        endingFollows.set(number);
    }

    /** Does something each time when this method is called. */
    public void on(String method, Runnable action) {
        hooks.put(method, action);
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
        synchronized (followers) {
            set(look);
            reportLate(look);
        }
    }

    /** Reports a state that was true before to those who follow now. */
    public void reportLate(WorkloadLook look) {
        followers.forEach(one -> one.add(look));
    }

    /** Makes a workload unknown and reports that to those who follow. */
    public void remove(WorkloadId workload) {
        synchronized (followers) {
            present.remove(workload);
            reportLate(unknown(workload));
        }
    }

    /** The calls that change something, in order. */
    public List<String> calls() {
        return calls;
    }

    public List<HoldCommand> holds() {
        return holds;
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

    private void enter(String method) {
        beforeEach.run();
        Queue<CommandFailure> told = failures.get(method);
        CommandFailure failure = told == null ? null : told.poll();
        if (failure != null) {
            throw failure;
        }
        hooks.getOrDefault(method, () -> {}).run();
    }

    private void enter(String method, String call) {
        calls.add(call);
        enter(method);
    }

    @Override
    public Layout layout() {
        return layout;
    }

    @Override
    public void declare(String origin, String document) {
        gate.enter();
        try {
            enter("declare", "declare " + origin);
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
            enter("withdraw", "withdraw " + workload);
            withdrawn.add(workload);
            present.remove(workload);
            onWithdraw.to(workload.toString());
        } finally {
            gate.leave();
        }
    }

    @Override
    public WorkloadLook look(WorkloadId workload) {
        enter("look");
        Queue<WorkloadLook> before = nextLooks.get(workload);
        WorkloadLook next = before == null ? null : before.poll();
        return next == null ? now(workload) : next;
    }

    private WorkloadLook now(WorkloadId workload) {
        return present.getOrDefault(workload, unknown(workload));
    }

    @Override
    public void follow(ImmutableList<WorkloadId> workloads, Predicate<WorkloadLook> goesOn)
            throws InterruptedException {
        enter("follow");
        followed.add(workloads);
        if (endingFollows.getAndUpdate(left -> Math.max(0, left - 1)) > 0) {
            return;
        }
        BlockingQueue<WorkloadLook> changes = new LinkedBlockingQueue<>();
        List<WorkloadLook> looks;
        synchronized (followers) {
            looks = workloads.stream().map(this::now).toList();
            followers.add(changes);
        }
        try {
            for (WorkloadLook look : looks) {
                if (!goesOn.test(look)) {
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
        enter("former");
        return former;
    }

    @Override
    public void resume(String origin, WorkloadId workload) {
        enter("resume", "resume " + workload);
    }

    @Override
    public void run(Command command) {
        HoldCommand hold = (HoldCommand) command;
        holds.add(hold);
        String word = hold.hold().name();
        enter(word, word);
    }
}
