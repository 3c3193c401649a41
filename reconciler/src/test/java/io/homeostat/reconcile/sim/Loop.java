package io.homeostat.reconcile.sim;

import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.StoreException;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.reconcile.loop.PassListener;
import io.homeostat.reconcile.loop.PassResult;
import io.homeostat.reconcile.loop.WorkloadPass;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.record.Outcome;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The agent's loop in virtual time and on one thread: real passes, each when it is due; starts the agent again when it dies. */
final class Loop {
    private static final long RESYNC_MILLIS = 30_000;
    private static final long AFTER_A_BROKEN_PASS_MILLIS = 5_000;
    private static final long AGENT_STARTS_IN_MILLIS = 200;
    private static final long SPAN_MILLIS = 10_000;
    /** Within a span; polling while three programs start takes a few hundred. */
    private static final int MANY_PASSES = 1_000;

    private final VirtualClock clock;
    private final FakeMachine machine;
    private final Story story;
    private final boolean hints;
    private final World world;
    private final Agent agent;
    private WorkloadPass pass;
    private final Map<WorkloadId, Long> due = new HashMap<>();
    private final Map<WorkloadId, PassResult> last = new HashMap<>();
    private long resync = RESYNC_MILLIS;
    private long span;
    private int passes;

    /** @param world with which the agent has to do */
    Loop(VirtualClock clock, FakeMachine machine, Story story, Agent agent, World world, boolean hints) {
        this.clock = clock;
        this.machine = machine;
        this.story = story;
        this.hints = hints;
        this.world = world;
        this.agent = agent;
        this.pass = begin();
        Scenario.IDS.forEach(id -> due.put(id, 0L));
    }

    /** What an agent keeps in its memory goes with it. */
    private WorkloadPass begin() {
        WorkloadPass begun = new WorkloadPass(
                machine.asked,
                agent.eyes().apply(world),
                agent.hands().apply(world),
                machine.store,
                clock,
                id -> "",
                new Teller(),
                Runnable::run);
        world.meet(begun);
        return begun;
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
            case PassResult.UnderWay underWay -> throw new IllegalStateException("there is one thread");
            case PassResult.Later later -> {
                Instant now = clock.instant();
                Instant until = later.until().until();
                if (until.isAfter(now.plusMillis(resync))) {
                    yield resync;
                }
                yield Math.max(1, Duration.between(now, until).toMillis());
            }
            case PassResult.Settled settled -> resync;
        };
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
