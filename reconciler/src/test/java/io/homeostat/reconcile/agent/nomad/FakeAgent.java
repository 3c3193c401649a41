package io.homeostat.reconcile.agent.nomad;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.reconcile.agent.api.ApiException;
import io.homeostat.reconcile.agent.frontend.FrontEndAgent;
import io.homeostat.reconcile.agent.frontend.WorkloadLook;
import io.homeostat.reconcile.command.Command;
import io.homeostat.reconcile.command.HoldCommand;
import io.homeostat.reconcile.command.environment.CommandFailure;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;

/** An agent in memory: workloads are as the test says that they are, and every call that changes something is noted. */
final class FakeAgent implements FrontEndAgent {
    /** The calls that change something, in order. */
    final List<String> calls = new CopyOnWriteArrayList<>();

    final List<String> documents = new CopyOnWriteArrayList<>();
    final List<HoldCommand> holds = new CopyOnWriteArrayList<>();

    /** Starts of tasks that were not destroyed, whatever is asked for. */
    final List<WorkloadLook> former = new ArrayList<>();

    private final Layout layout;
    private final Map<WorkloadId, WorkloadLook> looks = new HashMap<>();
    private final Map<String, Queue<CommandFailure>> failures = new ConcurrentHashMap<>();
    private final Map<String, Runnable> hooks = new ConcurrentHashMap<>();
    private final Map<WorkloadId, Queue<WorkloadLook>> next = new ConcurrentHashMap<>();

    /** The number of follow calls that end at once, as when an agent stops. */
    final AtomicInteger endingFollows = new AtomicInteger();

    FakeAgent(Layout layout) {
        this.layout = layout;
    }

    /** A call that may have been done all the same. */
    static CommandFailure unanswered() {
        return new CommandFailure("no answer", new ApiException(ApiException.Kind.LOST, "lost", null));
    }

    static CommandFailure refused() {
        return new CommandFailure("refused");
    }

    /** Fails a call as often as there are failures. */
    void failing(String call, CommandFailure... all) {
        failures.computeIfAbsent(call, name -> new ConcurrentLinkedQueue<>()).addAll(List.of(all));
    }

    /** Does something each time when a call is made. */
    void on(String call, Runnable action) {
        hooks.put(call, action);
    }

    /** Sets the state of a workload, and reports it to all followers. */
    synchronized void put(WorkloadLook look) {
        looks.put(look.workload(), look);
        notifyAll();
    }

    synchronized void remove(WorkloadId id) {
        looks.remove(id);
        notifyAll();
    }

    /** Sets what the next looks return; later looks return the state of the workload. */
    void nextLooks(WorkloadLook... all) {
        next.put(all[0].workload(), new ArrayDeque<>(List.of(all)));
    }

    private synchronized WorkloadLook now(WorkloadId id) {
        return looks.getOrDefault(id, unknown(id));
    }

    WorkloadLook unknown(WorkloadId id) {
        return new WorkloadLook(id, false, false, null, null, null, false, "", 0, log());
    }

    Path log() {
        return layout.stateDir().resolve("log");
    }

    private void call(String call, String words) {
        calls.add(words);
        Queue<CommandFailure> failing = failures.getOrDefault(call, new ArrayDeque<>());
        CommandFailure failure = failing.poll();
        if (failure != null) {
            throw failure;
        }
        hooks.getOrDefault(call, () -> {}).run();
    }

    private void look(String call) {
        Queue<CommandFailure> failing = failures.getOrDefault(call, new ArrayDeque<>());
        CommandFailure failure = failing.poll();
        if (failure != null) {
            throw failure;
        }
        hooks.getOrDefault(call, () -> {}).run();
    }

    @Override
    public Layout layout() {
        return layout;
    }

    @Override
    public List<WorkloadLook> former(String task) {
        look("former");
        return former;
    }

    @Override
    public WorkloadLook look(WorkloadId workload) {
        look("look");
        Queue<WorkloadLook> before = next.get(workload);
        WorkloadLook first = before == null ? null : before.poll();
        return first == null ? now(workload) : first;
    }

    @Override
    public void follow(ImmutableList<WorkloadId> workloads, Predicate<WorkloadLook> goesOn)
            throws InterruptedException {
        look("follow");
        if (endingFollows.getAndUpdate(left -> Math.max(0, left - 1)) > 0) {
            return;
        }
        Map<WorkloadId, WorkloadLook> told = new HashMap<>();
        while (true) {
            for (WorkloadId id : workloads) {
                WorkloadLook look = now(id);
                if (!look.equals(told.put(id, look)) && !goesOn.test(look)) {
                    return;
                }
            }
            synchronized (this) {
                while (workloads.stream().allMatch(id -> now(id).equals(told.get(id)))) {
                    wait();
                }
            }
        }
    }

    @Override
    public void declare(String origin, String document) {
        call("declare", "declare " + origin);
        documents.add(document);
    }

    @Override
    public void withdraw(WorkloadId workload) {
        call("withdraw", "withdraw " + workload);
        remove(workload);
    }

    @Override
    public void resume(String origin, WorkloadId workload) {
        call("resume", "resume " + workload);
    }

    @Override
    public void run(Command command) {
        HoldCommand hold = (HoldCommand) command;
        holds.add(hold);
        call(hold.hold().name(), hold.hold().name());
    }
}
