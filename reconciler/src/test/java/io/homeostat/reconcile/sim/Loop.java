package io.homeostat.reconcile.sim;

import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.StoreException;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.observe.ObservedWorkload;
import io.homeostat.reconcile.loop.PassListener;
import io.homeostat.reconcile.loop.PassResult;
import io.homeostat.reconcile.loop.StepExecutor;
import io.homeostat.reconcile.loop.WorkloadPass;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.record.Outcome;
import java.time.Duration;
import java.time.Instant;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The agent's loop in virtual time and on one thread: real passes, each when it is due; starts the agent again when it dies. */
final class Loop {
    private static final long RESYNC_MILLIS = 30_000;
    private static final long AFTER_A_BROKEN_PASS_MILLIS = 5_000;
    private static final long AGENT_STARTS_IN_MILLIS = 200;
    private static final long SPAN_MILLIS = 10_000;
    private static final int LONGEST_FETCH_MILLIS = 40_000;
    /** Within a span; polling while three programs start takes a few hundred. */
    private static final int MANY_PASSES = 1_000;

    private final VirtualClock clock;
    private final FakeMachine machine;
    private final Story story;
    private final boolean hints;
    private final World world;
    private final Agent agent;
    private final FaultInjector faults;
    private WorkloadPass pass;
    /** Whose pass is under way. */
    private WorkloadId current = Scenario.IDS.get(0);
    /** What is fetched beside passes; all of it is done in the moment in which it is over. */
    private final Map<WorkloadId, Fetching> fetching = new HashMap<>();
    /** In which a fetch has ended. */
    private @Nullable AgentCrash crash;

    private final Map<WorkloadId, Long> due = new HashMap<>();
    private final Map<WorkloadId, PassResult> last = new HashMap<>();
    private long resync = RESYNC_MILLIS;
    private long span;
    private int passes;

    private record Fetching(Runnable work, long over) {}

    /** @param world with which the agent has to do */
    Loop(
            VirtualClock clock,
            FakeMachine machine,
            Story story,
            Agent agent,
            World world,
            FaultInjector faults,
            boolean hints) {
        this.clock = clock;
        this.machine = machine;
        this.story = story;
        this.hints = hints;
        this.world = world;
        this.agent = agent;
        this.faults = faults;
        this.pass = begin();
        Scenario.IDS.forEach(id -> due.put(id, 0L));
    }

    /** What an agent keeps in its memory goes with it. */
    private WorkloadPass begin() {
        WorkloadPass begun = new WorkloadPass(
                machine.asked,
                agent.eyes().apply(world),
                fatal(agent.hands().apply(world)),
                machine.store,
                clock,
                id -> "",
                new Teller(),
                this::fetch);
        world.meet(begun);
        return begun;
    }

    /** Whatever a fetch dies of, all of the agent dies of it. */
    private StepExecutor fatal(StepExecutor hands) {
        return new StepExecutor() {
            @Override
            public Outcome execute(Step step, ObservedWorkload seen) {
                try {
                    return hands.execute(step, seen);
                } catch (AgentCrash e) {
                    crash = e;
                    throw e;
                }
            }

            @Override
            public void destroyEnded(WorkloadId id) {
                hands.destroyEnded(id);
            }
        };
    }

    /** Every other one is part of its pass. */
    private void fetch(Runnable work) {
        int millis = faults.pick(FaultInjector.Draw.FETCH_MILLIS, current, 2 * LONGEST_FETCH_MILLIS);
        if (millis < LONGEST_FETCH_MILLIS) {
            work.run();
        } else {
            fetching.put(current, new Fetching(work, clock.steadyMillis() + millis - LONGEST_FETCH_MILLIS));
        }
    }

    /** Ends the first fetch that is over by then, if there is one; without effect when it was broken off. */
    private boolean endFetch(long by) {
        WorkloadId id = fetching.entrySet().stream()
                .min(Comparator.comparingLong(one -> one.getValue().over()))
                .filter(one -> one.getValue().over() <= by)
                .map(Map.Entry::getKey)
                .orElse(null);
        if (id == null) {
            return false;
        }
        Fetching ended = Objects.requireNonNull(fetching.remove(id));
        clock.advanceTo(Math.max(clock.steadyMillis(), ended.over()));
        crash = null;
        machine.rules.decidedEarlier();
        ended.work().run();
        if (crash == null) {
            hint(id);
        } else {
            restart(crash);
        }
        return true;
    }

    /** How the last pass over a workload ended; null before the first. */
    @Nullable
    PassResult last(WorkloadId id) {
        return last.get(id);
    }

    void resync(Duration every) {
        resync = every.toMillis();
    }

    void hint(WorkloadId id) {
        due.put(id, clock.steadyMillis());
    }

    /** Where nobody tells, the last pass may not know yet what has become of others since. */
    void catchUp(WorkloadId id) {
        if (!hints) {
            hint(id);
            run(0);
        }
    }

    /** The agent begins anew, with a look at everything. */
    void restart(AgentCrash crash) {
        story.tell(() -> String.valueOf(crash.getMessage()));
        if (crash instanceof AgentCrash.PowerCut) {
            world.powerFails();
        }
        fetching.clear();
        machine.processes.forgetWhoStopped();
        clock.advanceMillis(AGENT_STARTS_IN_MILLIS);
        pass = begin();
        Scenario.IDS.forEach(this::hint);
    }

    /** Runs every pass that becomes due within this time. */
    void run(long millis) {
        long end = clock.steadyMillis() + millis;
        while (true) {
            WorkloadId next = Scenario.IDS.get(0);
            for (WorkloadId id : Scenario.IDS) {
                if (due.getOrDefault(id, 0L) < due.getOrDefault(next, 0L)) {
                    next = id;
                }
            }
            WorkloadId id = next;
            long at = due.getOrDefault(id, 0L);
            if (endFetch(Math.min(at, end))) {
                continue;
            }
            if (at > end) {
                clock.advanceTo(end);
                return;
            }
            clock.advanceTo(at);
            countPass(id);
            pass(id);
        }
    }

    private void countPass(WorkloadId id) {
        long now = clock.steadyMillis() / SPAN_MILLIS;
        passes = now == span ? passes + 1 : 1;
        span = now;
        Invariant.NO_RUNNING_IN_CIRCLES.require(
                passes < MANY_PASSES, () -> passes + " passes in " + SPAN_MILLIS + " ms, such as over " + id);
    }

    private void pass(WorkloadId id) {
        current = id;
        try {
            PassResult next = pass.run(id);
            last.put(id, next);
            due.put(id, clock.steadyMillis() + delay(next));
            if (hints) {
                due.merge(id, Math.max(clock.steadyMillis(), machine.processes.nextEnd(id)), Math::min);
            }
        } catch (AgentCrash crash) {
            restart(crash);
        } catch (StoreException e) {
            story.tell(() -> "  " + id + " breaks off: " + e.getMessage());
            due.put(id, clock.steadyMillis() + AFTER_A_BROKEN_PASS_MILLIS);
        } catch (RuntimeException e) {
            throw new Invariant.Violation(Invariant.NO_PASS_BREAKS, id + ": " + e, e);
        }
    }

    private long delay(PassResult next) {
        return switch (next) {
            // Every pass takes some time.
            case PassResult.Again again -> 1;
            case PassResult.UnderWay underWay ->
                underWay.plan().due() == null ? resync : until(underWay.plan().due());
            case PassResult.Later later -> until(later.until().until());
            case PassResult.Settled settled -> resync;
        };
    }

    private long until(Instant time) {
        Instant now = clock.instant();
        return time.isAfter(now.plusMillis(resync))
                ? resync
                : Math.max(1, Duration.between(now, time).toMillis());
    }

    private static String words(Outcome outcome) {
        return switch (outcome) {
            case Outcome.Done done -> "done";
            case Outcome.Failed(FailureCause cause, String error, boolean fatal) ->
                "failed, " + error + (fatal ? ", for good" : "");
            case Outcome.Unsupported unsupported -> "unsupported";
            case Outcome.Interrupted interrupted -> "interrupted";
        };
    }

    private final class Teller implements PassListener {
        @Override
        public void starting(Step step) {
            story.tell(() -> "  " + step.workload() + " " + step.word());
            if (step instanceof Step.Reboot reboot) {
                // Done by other passes, not by the executor.
                machine.rules.beforeReboot(reboot);
            }
        }

        @Override
        public void concerned(Set<WorkloadId> others) {
            if (hints) {
                others.forEach(Loop.this::hint);
            }
        }

        @Override
        public void finished(WorkloadId id, PassResult next) {
            machine.restraints.finished(id);
            machine.restraints.planned(id, next.plan());
            if (next instanceof PassResult.Again again) {
                story.tell(() -> "  " + id + " " + again.step().word() + ": " + words(again.outcome()) + " ("
                        + again.plan().action() + " " + again.plan().reason() + ")");
            }
        }

        @Override
        public void broken(WorkloadId id, Throwable problem) {
            story.tell(() -> "  " + id + " broke off: " + problem);
        }
    }
}
