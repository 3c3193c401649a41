package io.homeostat.reconcile.sim;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.model.ConfigHash;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.DesiredState;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.PluginSpec;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.store.ProvenRevision;
import io.homeostat.observe.ActualState;
import io.homeostat.observe.Observation;
import io.homeostat.observe.ObservedWorkload;
import io.homeostat.reconcile.loop.Next;
import io.homeostat.reconcile.loop.PassListener;
import io.homeostat.reconcile.loop.WorkloadPass;
import io.homeostat.reconcile.plan.Bookkeeping;
import io.homeostat.reconcile.plan.History;
import io.homeostat.reconcile.plan.LaunchInputs;
import io.homeostat.reconcile.plan.Outcome;
import io.homeostat.reconcile.plan.Plan;
import io.homeostat.reconcile.plan.Planner;
import io.homeostat.reconcile.plan.Situation;
import io.homeostat.reconcile.plan.Step;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * One history of one machine: random declarations, failures, agent crashes between any two effects, and time that passes only
 * in here. The agent under test is the real one: its pass, its planner, its bookkeeping.
 */
final class Simulation {
    private static final List<WorkloadId> IDS =
            List.of(WorkloadId.plugin("alpha"), WorkloadId.plugin("beta"), WorkloadId.process("gamma"));

    private final Chaos chaos;
    private final VirtualClock clock = new VirtualClock();
    private final Declarations desired = new Declarations();
    private final FakeStore store;
    private final FakeMachine machine;
    private final Map<WorkloadId, Instant> due = new TreeMap<>();
    private final List<String> story = new ArrayList<>();
    private Duration resync = Duration.ofSeconds(30);
    private WorkloadPass agent;

    Simulation(long seed) {
        chaos = new Chaos(seed);
        store = new FakeStore(chaos);
        machine = new FakeMachine(chaos, clock, store);
        agent = newAgent();
        IDS.forEach(id -> due.put(id, clock.instant()));
    }

    /** What happened, for somebody who looks at a failed seed. */
    String story() {
        return String.join("\n", story);
    }

    private WorkloadPass newAgent() {
        return new WorkloadPass(desired, machine, machine, store, clock, id -> "", new Storyteller());
    }

    /** Lets the world do its worst. */
    void live(int happenings) {
        for (int i = 0; i < happenings; i++) {
            happen();
            passUntil(clock.instant().plusMillis(chaos.pick(120_000)));
        }
    }

    private void happen() {
        WorkloadId id = IDS.get(chaos.pick(IDS.size()));
        switch (chaos.pick(10)) {
            case 0, 1, 2, 3 -> declare(id, anyRevision(id));
            case 4 -> {
                tell("withdraw " + id);
                desired.withdraw(id);
            }
            case 5, 6 -> {
                tell("kill " + id);
                machine.kill(id);
            }
            case 7 -> {
                tell("make unhealthy " + id);
                machine.makeUnhealthy(id);
            }
            case 8 -> {
                tell("move link " + id);
                machine.moveLink(id);
            }
            default -> {
                tell("delete installs " + id);
                machine.deleteInstall(id);
            }
        }
        if (chaos.choose(70)) {
            hint(id);
        }
    }

    private void declare(WorkloadId id, String revision) {
        ImmutableList<String> arguments = chaos.choose(70) ? ImmutableList.of() : ImmutableList.of("-v");
        String config = "config" + chaos.pick(2);
        tell("declare " + id + " " + revision + " " + arguments + " " + config);
        desired.declare(id, revision, arguments, config);
    }

    private String anyRevision(WorkloadId id) {
        Behaviour[] all = Behaviour.values();
        Behaviour behaviour = chaos.choose(60) ? Behaviour.GOOD : all[chaos.pick(all.length)];
        boolean hasProtocol = id.kind() == Kind.PLUGIN;
        if (!hasProtocol && (behaviour == Behaviour.NEVER_LISTENS || behaviour == Behaviour.START_ERROR)) {
            behaviour = Behaviour.EXITS_AT_ONCE;
        }
        return behaviour.name() + "-" + chaos.pick(4);
    }

    private void hint(WorkloadId id) {
        due.put(id, clock.instant());
    }

    /** Runs every pass that becomes due until the given time. */
    private void passUntil(Instant end) {
        int passes = 0;
        while (true) {
            Map.Entry<WorkloadId, Instant> next =
                    due.entrySet().stream().min(Map.Entry.comparingByValue()).orElseThrow();
            if (next.getValue().isAfter(end)) {
                clock.advanceTo(end);
                return;
            }
            clock.advanceTo(next.getValue());
            pass(next.getKey());
            if (++passes > 20_000) {
                throw new AssertionError("the agent goes round in circles on " + next.getKey());
            }
        }
    }

    private void pass(WorkloadId id) {
        try {
            Next next = agent.run(id);
            due.put(id, whenAgain(next));
            if (next instanceof Next.Again) {
                // Every step takes some time.
                clock.advance(Duration.ofMillis(1 + chaos.pick(20)));
            }
        } catch (AgentCrash crash) {
            tell(String.valueOf(crash.getMessage()));
            agent = newAgent();
            IDS.forEach(this::hint);
            clock.advance(Duration.ofMillis(200));
        }
    }

    private Instant whenAgain(Next next) {
        return switch (next) {
            case Next.Again again -> clock.instant();
            case Next.Later later -> {
                Instant until = later.until().until();
                yield until.isBefore(clock.instant().plus(resync))
                        ? until
                        : clock.instant().plus(resync);
            }
            case Next.Settled settled -> clock.instant().plus(resync);
        };
    }

    /** No more faults: whatever state the machine is in, it has to get from there to where it should be. */
    void calmDown() {
        tell("faults stop");
        chaos.stopFaults();
        // Nothing but the resync tells of anything any more; a rare one is enough.
        resync = Duration.ofMinutes(15);
        // Longer than every pause between two attempts, but for an undone upgrade, which may rest a day.
        for (int i = 0; i < 20; i++) {
            passUntil(clock.instant().plus(Duration.ofHours(2)));
        }
    }

    void assertConverged() {
        for (WorkloadId id : IDS) {
            List<FakeProcess> living = machine.living(id);
            Declaration declared = desired.declaration(id).orElse(null);
            if (declared == null) {
                require(living.isEmpty(), id + " is withdrawn but runs");
                require(
                        look(id).installations().equals(Observation.seen(ImmutableList.of())),
                        id + " is withdrawn but installed");
                continue;
            }
            Behaviour behaviour = Behaviour.of(declared.workload().revision());
            if (behaviour.isGood()) {
                require(living.size() == 1, id + " does not run");
                requireRuns(living.get(0), declared);
                require(planOf(id).isEmpty(), id + " has converged, but its plan is not empty: " + planOf(id));
                continue;
            }
            ProvenRevision proven = store.history(id).proven();
            if (proven != null) {
                require(living.size() == 1, id + ": neither the failed revision nor the last good one runs");
                require(
                        living.get(0)
                                .launched
                                .revision()
                                .equals(proven.workload().revision()),
                        id + ": the last good revision does not run");
            }
        }
    }

    private static void requireRuns(FakeProcess process, Declaration declared) {
        require(process.launched.revision().equals(declared.workload().revision()), "wrong revision: " + declared.id());
        require(
                process.launched
                        .inputs()
                        .equals(LaunchInputs.of(declared.workload().program())),
                "wrong arguments: " + declared.id());
        if (declared.workload().spec() instanceof PluginSpec plugin) {
            require(ConfigHash.of(plugin.config()).equals(process.configHash), "wrong config: " + declared.id());
            require(process.healthy, "unhealthy: " + declared.id());
        }
    }

    /** From a converged machine, without faults: what a dry run foretells is what is then done. */
    void assertDryRunForetells() {
        for (WorkloadId id : IDS) {
            machine.drainExecuted();
            if (chaos.choose(25)) {
                desired.withdraw(id);
            } else {
                declare(id, "GOOD-" + chaos.pick(4));
            }
            List<String> foretold = planOf(id).workloads().stream()
                    .flatMap(plan -> plan.steps().stream())
                    .filter(step -> !(step instanceof Step.Wait))
                    .map(Step::word)
                    .toList();
            hint(id);
            passUntil(clock.instant().plus(Duration.ofMinutes(2)));
            List<String> done = machine.drainExecuted().stream()
                    .filter(step -> step.workload().equals(id))
                    .map(Step::word)
                    .toList();
            require(foretold.equals(done), id + ": foretold " + foretold + ", done " + done);
        }
    }

    private Plan planOf(WorkloadId id) {
        Declaration declared = desired.declaration(id).orElse(null);
        Situation situation =
                new Situation(declared, look(id), ImmutableSet.of(), store.history(id), store.seed(), clock.instant());
        Situation known = Bookkeeping.observed(situation).situation();
        ActualState actual = new ActualState(
                ImmutableSortedMap.of(id, known.seen()),
                ((Observation.Seen<ImmutableSet<String>>) machine.archives()).value());
        History history = new History(ImmutableMap.of(id, known.history()), store.seed());
        return Planner.plan(
                new DesiredState(declared == null ? ImmutableSortedMap.of() : ImmutableSortedMap.of(id, declared)),
                actual,
                history,
                clock.instant());
    }

    private ObservedWorkload look(WorkloadId id) {
        return machine.look(
                id,
                store.handles(id),
                Bookkeeping.checks(desired.declaration(id).orElse(null), store.history(id)));
    }

    private static String words(Outcome outcome) {
        return switch (outcome) {
            case Outcome.Done done -> "done";
            case Outcome.Failed(String error, boolean fatal) -> "failed, " + error + (fatal ? ", for good" : "");
            case Outcome.Unsupported unsupported -> "unsupported";
            case Outcome.Interrupted interrupted -> "interrupted";
        };
    }

    private void tell(String what) {
        story.add(clock.instant() + " " + what);
    }

    private static void require(boolean condition, String violation) {
        if (!condition) {
            throw new AssertionError(violation);
        }
    }

    private final class Storyteller implements PassListener {
        @Override
        public void starting(Step step) {
            tell("  " + step.workload() + " " + step.word());
        }

        @Override
        public void finished(WorkloadId id, Next next) {
            if (next instanceof Next.Again again) {
                tell("  " + id + " " + again.step().word() + ": " + words(again.outcome()) + " ("
                        + again.plan().reason() + ")");
            }
        }

        @Override
        public void broken(WorkloadId id, Throwable problem) {
            tell("  " + id + " broke off: " + problem);
        }
    }
}
