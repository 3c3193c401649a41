package io.homeostat.reconcile.fleet;

import com.fasterxml.jackson.databind.json.JsonMapper;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.etcd.KeyValues;
import io.homeostat.desired.etcd.KeyValues.Entry;
import io.homeostat.desired.fleet.FleetKeys;
import io.homeostat.desired.fleet.MachineRegistration;
import io.homeostat.desired.fleet.MachineReport.ReportedWorkload;
import io.homeostat.desired.fleet.Rollout;
import io.homeostat.desired.fleet.RolloutOrder;
import io.homeostat.desired.fleet.RolloutOrder.Action;
import io.homeostat.desired.fleet.RolloutState;
import io.homeostat.desired.fleet.RolloutState.Phase;
import io.homeostat.desired.model.RolloutSpec;
import io.homeostat.desired.model.RolloutSpec.Need;
import io.homeostat.desired.model.RolloutSpec.OnFailure;
import io.homeostat.desired.model.schema.Portion;
import io.homeostat.desired.state.RecordCodec;
import io.homeostat.reconcile.fleet.FleetMirror.Scope;
import io.homeostat.reconcile.fleet.SimulatedMachine.Fate;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.PriorityQueue;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.stream.IntStream;

/**
 * One history of one fleet, grown from its seed and played in virtual time: some controllers, an etcd, machines. First the world does its
 * worst, then all faults stop, somebody resumes what was stopped, and every machine has to get to what is declared.
 */
final class FleetSimulation {
    private static final Instant BEGINNING = Instant.parse("2026-01-01T00:00:00Z");
    private static final Duration STEP = Duration.ofSeconds(4);
    private static final Duration CALM = Duration.ofHours(5);
    /** Longer than a new leader takes. */
    private static final Duration PROMPT = Duration.ofSeconds(10);

    private static final int MANY = 300;
    private static final int VERY_MANY = 10_000;
    private static final ImmutableList<ImmutableList<Portion>> WAVES = ImmutableList.of(
            ImmutableList.of(one(1), percent(10), percent(50), percent(100)),
            ImmutableList.of(percent(100)),
            ImmutableList.of(one(3), percent(30), percent(100)),
            ImmutableList.of(percent(1), one(20), percent(60), percent(61), percent(100)));

    private final RecordCodec codec = new RecordCodec(new JsonMapper());
    private final FleetKeys keys = new FleetKeys("/fleet");
    private final SplittableRandom random;
    private final PriorityQueue<Event> events = new PriorityQueue<>();
    private final MemoryKeyValues etcd = new MemoryKeyValues(this::now);
    private final Map<String, SimulatedMachine> machines = new TreeMap<>();
    private final List<SimulatedController> controllers = new ArrayList<>();
    private final List<ImmutableList<Scope>> sets = new ArrayList<>();
    private final Map<String, RolloutState> states = new HashMap<>();
    private final FleetInvariants invariants;
    private final List<String> story = new ArrayList<>();
    private final double badness;
    private final int generations;
    private long now;
    private long scheduled;
    private int lastMachine;
    private final boolean isLarge;
    private boolean isCalm;

    FleetSimulation(long seed, Function<RolloutSituation, RolloutPlan> planner) {
        random = new SplittableRandom(seed);
        isLarge = seed % 50 == 0;
        int size = hasVeryMany(seed) ? VERY_MANY : isLarge ? MANY : random.nextInt(1, 60);
        badness = random.nextInt(3) == 0 ? 0 : random.nextDouble(0.2);
        generations = random.nextInt(1, 4);
        invariants = new FleetInvariants(machines);
        etcd.witnessedBy(this::wrote);
        for (int i = 0; i < size; i++) {
            join();
        }
        publish();
        for (int i = 0; i < random.nextInt(1, 4); i++) {
            controllers.add(new SimulatedController(
                    etcd,
                    keys,
                    set -> sets.get(Integer.parseInt(set.toStringUtf8())),
                    "controller-" + i,
                    this::instant,
                    planner));
        }
    }

    /** Whether the fleet of this seed has ten thousand machines. */
    static boolean hasVeryMany(long seed) {
        return seed % 2_000 == 0;
    }

    private record Event(long at, long number, Runnable what) implements Comparable<Event> {
        @Override
        public int compareTo(Event other) {
            return Comparator.comparingLong(Event::at)
                    .thenComparingLong(Event::number)
                    .compare(this, other);
        }
    }

    private static Portion one(int amount) {
        return new Portion(amount, false);
    }

    private static Portion percent(int amount) {
        return new Portion(amount, true);
    }

    /** Plays it; throws a {@link FleetInvariants.Violation} when something does not hold. */
    void play() throws InterruptedException {
        long end = Duration.ofHours(isLarge ? 1 : random.nextInt(1, 6)).toMillis();
        after(minutes(1, 10), this::happen);
        run(end);
        calm();
        run(end + CALM.toMillis());
        invariants.ended(published(), states, machines.values());
    }

    /** What has happened, for whoever looks for a fault. */
    String story() {
        return String.join("\n", story);
    }

    private void run(long until) throws InterruptedException {
        long step = now;
        while (step <= until) {
            while (!events.isEmpty() && events.element().at() <= step) {
                Event event = events.remove();
                now = Math.max(now, event.at());
                event.what().run();
            }
            now = step;
            for (SimulatedController controller : controllers) {
                controller.step();
            }
            if (!isLarge || step % 20_000 == 0) {
                invariants.stopsPromptly(published(), states, controllers, instant(), PROMPT);
            }
            if (isCalm && step % Duration.ofMinutes(10).toMillis() == 0) {
                resume();
            }
            step += STEP.toMillis();
        }
    }

    private long now() {
        return now;
    }

    private Instant instant() {
        return BEGINNING.plusMillis(now);
    }

    private void after(Duration delay, Runnable what) {
        events.add(new Event(now + delay.toMillis(), scheduled++, what));
    }

    private Duration minutes(int from, int to) {
        return Duration.ofSeconds(random.nextInt(from * 60, to * 60));
    }

    private Duration seconds(int upTo) {
        return Duration.ofMillis(random.nextInt(1, upTo * 1000));
    }

    private void tell(String what) {
        story.add(instant() + " " + what);
    }

    private ImmutableList<Scope> published() {
        return sets.getLast();
    }

    /** Something happens, and something else a while later. */
    private void happen() {
        if (isCalm) {
            return;
        }
        after(minutes(1, 8), this::happen);
        SimulatedController controller = controllers.get(random.nextInt(controllers.size()));
        switch (random.nextInt(17)) {
            case 0, 1 -> cutOffMachines();
            case 2 -> join();
            case 3 -> leave();
            case 4 -> {
                tell("a controller is cut off");
                controller.isCutOff = true;
                after(minutes(1, 20), controller::heal);
            }
            case 5 -> {
                tell("a controller stands still");
                controller.isFrozen = true;
                after(minutes(1, 20), controller::heal);
            }
            case 6 -> {
                tell("a controller hears of nothing");
                controller.isDeaf = true;
                after(minutes(1, 20), controller::heal);
            }
            case 7 -> {
                tell("a controller's answers are lost");
                controller.losesAnswers = true;
                after(seconds(60), controller::heal);
            }
            case 8, 9 -> {
                tell("a controller dies");
                controller.die();
            }
            case 10 -> {
                controller.clockIsOffBy = Duration.ofSeconds(random.nextInt(-100_000, 100_000));
                tell("a controller's clock is off by " + controller.clockIsOffBy);
            }
            case 11 -> etcd.compact();
            case 12 -> order(Action.values()[random.nextInt(Action.values().length)]);
            case 13 -> publish();
            case 14 -> loseState();
            case 15 -> relabel();
            default -> lie();
        }
    }

    /** Somebody removes what was decided. */
    private void loseState() {
        String name =
                published().get(random.nextInt(published().size())).rollout().name();
        tell(name + " is forgotten");
        etcd.delete(keys.rollout(name));
        states.remove(name);
        machines.values().forEach(this::wake);
    }

    private void calm() {
        tell("faults stop");
        isCalm = true;
        controllers.forEach(controller -> {
            controller.heal();
            controller.clockIsOffBy = Duration.ZERO;
        });
        machines.values().forEach(machine -> {
            machine.isCutOff = false;
            machine.isLying = false;
            wake(machine);
        });
    }

    private void resume() {
        for (Scope scope : published()) {
            RolloutState state = states.get(scope.rollout().name());
            if (state != null
                    && (state.phase() == Phase.HALTED
                            || state.phase() == Phase.PAUSED
                            || state.phase() == Phase.ABORTED)) {
                order(scope.rollout(), Action.RESUME);
            }
        }
    }

    private void order(Action action) {
        Scope scope = published().get(random.nextInt(published().size()));
        order(scope.rollout(), action);
    }

    private void order(Rollout rollout, Action action) {
        tell(rollout.name() + ": " + action);
        etcd.put(
                keys.order(rollout.name()),
                codec.write(new RolloutOrder(rollout.digest(), action, instant(), "somebody")),
                KeyValues.NO_LEASE);
    }

    /** Another pace, or the next revision. */
    private void publish() {
        int generation = 1 + random.nextInt(generations) + (sets.isEmpty() ? 0 : sets.size() / 3);
        ImmutableList.Builder<Scope> scopes = ImmutableList.builder();
        for (String role : List.of("web", "db")) {
            RolloutSpec spec = new RolloutSpec(
                    ImmutableList.of("process/" + role),
                    "v" + generation,
                    "v" + (generation + 1),
                    WAVES.get(random.nextInt(WAVES.size())),
                    Duration.ofMinutes(random.nextInt(1, 5)),
                    Duration.ofMinutes(random.nextInt(5, 15)),
                    random.nextBoolean() ? ImmutableList.copyOf(Need.values()) : ImmutableList.of(Need.CONVERGED),
                    random.nextBoolean() ? one(random.nextInt(3)) : percent(random.nextInt(20)),
                    random.nextBoolean() ? OnFailure.HALT : OnFailure.ROLL_BACK,
                    null);
            scopes.add(
                    new Scope(Rollout.of(role, spec), labels -> role.equals("web") || role.equals(labels.get("role"))));
        }
        sets.add(scopes.build());
        published()
                .forEach(scope -> tell("published " + scope.rollout().name() + " "
                        + scope.rollout().spec()));
        etcd.put(keys.set(), String.valueOf(sets.size() - 1), KeyValues.NO_LEASE);
        machines.values().forEach(this::wake);
    }

    private void join() {
        String id = "vm-" + lastMachine++;
        ImmutableSortedMap<String, String> labels =
                random.nextInt(3) == 0 ? ImmutableSortedMap.of("role", "db") : ImmutableSortedMap.of();
        SimulatedMachine machine = new SimulatedMachine(id, register(id, labels), labels);
        machines.put(id, machine);
        wake(machine);
    }

    private long register(String id, ImmutableSortedMap<String, String> labels) {
        return etcd.put(keys.machine(id), codec.write(new MachineRegistration(labels, instant())), KeyValues.NO_LEASE);
    }

    /** Some machines become those of the smaller rollout, or are so no more. */
    private void relabel() {
        IntStream.range(0, random.nextInt(1, 4))
                .forEach(i -> anyMachine().filter(machine -> !machine.isCutOff).ifPresent(machine -> {
                    ImmutableSortedMap<String, String> labels =
                            machine.labels.isEmpty() ? ImmutableSortedMap.of("role", "db") : ImmutableSortedMap.of();
                    tell(machine.id + " gets the labels " + labels);
                    machine.getsLabels(labels, register(machine.id, labels));
                    wake(machine);
                }));
    }

    private Optional<SimulatedMachine> anyMachine() {
        return machines.values().stream()
                .skip(random.nextInt(Math.max(1, machines.size())))
                .findFirst();
    }

    private void leave() {
        anyMachine().ifPresent(machine -> {
            tell(machine.id + " is taken away");
            machines.remove(machine.id);
            etcd.delete(keys.report(machine.id));
            etcd.delete(keys.machine(machine.id));
        });
    }

    private void lie() {
        anyMachine().ifPresent(machine -> {
            tell(machine.id + " lies");
            machine.isLying = true;
            wake(machine);
        });
    }

    private void cutOffMachines() {
        IntStream.range(0, random.nextInt(1, 4))
                .forEach(i -> anyMachine().ifPresent(machine -> {
                    tell(machine.id + " is cut off");
                    machine.isCutOff = true;
                    after(Duration.ofSeconds(45), () -> {
                        if (machine.isCutOff) {
                            machine.reported.clear();
                            etcd.delete(keys.report(machine.id));
                        }
                    });
                    after(minutes(1, 40), () -> {
                        machine.isCutOff = false;
                        wake(machine);
                    });
                }));
    }

    /** Has a machine look at what there is, after a moment. */
    private void wake(SimulatedMachine machine) {
        if (!machine.isAwake) {
            machine.isAwake = true;
            after(seconds(10), () -> {
                machine.isAwake = false;
                if (!machine.isCutOff && machines.containsKey(machine.id)) {
                    machine.hear(published(), Map.copyOf(states));
                    converge(machine);
                    report(machine);
                }
            });
        }
    }

    private void converge(SimulatedMachine machine) {
        for (Scope scope : machine.known()) {
            machine.desired(scope).ifPresent(revision -> {
                String workload = scope.rollout().spec().workloads().getFirst();
                if (!revision.equals(machine.running.get(workload))) {
                    after(seconds(60), () -> {
                        // It may have heard of something else meanwhile.
                        if (machine.desired(scope).equals(Optional.of(revision))
                                && machine.known().contains(scope)) {
                            machine.running.put(workload, revision);
                            invariants.runs(machine, scope.rollout(), revision);
                            if (!machine.isCutOff && machines.containsKey(machine.id)) {
                                report(machine);
                            }
                        }
                    });
                }
            });
        }
    }

    private void report(SimulatedMachine machine) {
        Map<String, Fate> fates = new HashMap<>();
        machine.known().forEach(scope -> {
            String revision = scope.rollout().spec().to();
            fates.put(revision, fate(machine, revision));
        });
        etcd.put(keys.report(machine.id), codec.write(machine.report(fates, instant())), KeyValues.NO_LEASE);
    }

    private Fate fate(SimulatedMachine machine, String revision) {
        SplittableRandom fate = new SplittableRandom((machine.id + revision).hashCode());
        return isCalm || fate.nextDouble() >= badness ? Fate.WELL : Fate.values()[fate.nextInt(Fate.values().length)];
    }

    /** Something was written into etcd. */
    private void wrote(Optional<Entry> before, Entry after) {
        if (!after.key().startsWith(keys.rollouts())) {
            return;
        }
        String name = after.key().substring(keys.rollouts().length());
        RolloutState state = codec.read(RolloutState.class, after.value().toStringUtf8());
        Optional<RolloutState> was =
                before.map(entry -> codec.read(RolloutState.class, entry.value().toStringUtf8()));
        states.put(name, state);
        tell(name + " " + state);
        published().stream()
                .filter(scope -> scope.rollout().name().equals(name))
                .forEach(scope -> invariants.decided(scope, was, state));
        published().stream()
                .filter(scope -> scope.rollout().name().equals(name))
                .forEach(scope -> machines.values().stream()
                        .filter(machine -> state.phase() == Phase.ROLLED_BACK
                                || letsIn(was, scope.rollout(), machine)
                                        != letsIn(Optional.of(state), scope.rollout(), machine))
                        .forEach(this::wake));
    }

    private static boolean letsIn(Optional<RolloutState> state, Rollout rollout, SimulatedMachine machine) {
        return state.filter(RolloutState::letsIn)
                .filter(one -> one.admits(rollout, machine.id, machine.registeredAt))
                .isPresent();
    }

    /** What a machine says of a workload is that the new revision has failed here. */
    static boolean saysFailed(SimulatedMachine machine, Rollout rollout) {
        return rollout.spec().workloads().stream().anyMatch(id -> {
            ReportedWorkload workload = machine.reported.get(id);
            return workload != null
                    && workload.desired().equals(rollout.spec().to())
                    && workload.failed().equals(rollout.spec().to());
        });
    }

    /** What a machine says of all workloads is that they are to be at the new revision. */
    static boolean saysItHas(SimulatedMachine machine, Rollout rollout) {
        return rollout.spec().workloads().stream().allMatch(id -> {
            ReportedWorkload workload = machine.reported.get(id);
            return workload != null && workload.desired().equals(rollout.spec().to());
        });
    }
}
