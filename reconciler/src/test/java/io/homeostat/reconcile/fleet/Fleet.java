package io.homeostat.reconcile.fleet;

import com.google.common.base.Splitter;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.fleet.MachineReport.ReportedWorkload;
import io.homeostat.desired.fleet.Rollout;
import io.homeostat.desired.fleet.RolloutOrder;
import io.homeostat.desired.fleet.RolloutOrder.Action;
import io.homeostat.desired.fleet.RolloutState;
import io.homeostat.desired.fleet.RolloutState.Phase;
import io.homeostat.desired.model.RolloutSpec;
import io.homeostat.desired.model.RolloutSpec.Need;
import io.homeostat.desired.model.RolloutSpec.OnFailure;
import io.homeostat.desired.model.schema.Notation;
import io.homeostat.desired.model.schema.Portion;
import io.homeostat.reconcile.fleet.RolloutSituation.GivenOrder;
import io.homeostat.reconcile.fleet.RolloutSituation.Member;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * A small fleet whose machines take what they are let in to at once, and one rollout from revision 1 to 2. What it does is written down
 * line by line, so that a test reads like the story of a rollout.
 */
final class Fleet {
    static final String WORKLOAD = "process/web";

    private static final Instant BEGINNING = Instant.parse("2026-11-01T12:00:00Z");

    private final List<Machine> machines = new ArrayList<>();
    private Rollout rollout;
    private @Nullable RolloutState state;
    private @Nullable GivenOrder order;
    private long revision;
    private Instant now = BEGINNING;

    Fleet(int size, String waves) {
        rollout = Rollout.of(
                "web",
                new RolloutSpec(
                        ImmutableList.of(WORKLOAD),
                        "1",
                        "2",
                        Splitter.on(' ')
                                .splitToStream(waves)
                                .map(wave -> Notation.portion(wave).orElseThrow())
                                .collect(ImmutableList.toImmutableList()),
                        Duration.ofMinutes(5),
                        Duration.ofMinutes(30),
                        ImmutableList.copyOf(Need.values()),
                        new Portion(0, false),
                        OnFailure.HALT,
                        null));
        join(size);
    }

    /** What a machine makes of the new revision. */
    enum Behaviour {
        WELL,
        SLOW,
        FAILING,
        GIVING_UP,
        RESTARTED,
        UNHEALTHY,
        NOT_CONVERGED,
        PAUSED,
        SILENT
    }

    private static final class Machine {
        final String id;
        final long registeredAt;
        Behaviour behaviour = Behaviour.WELL;
        /** Has the new revision, and goes on with it while nobody says otherwise. */
        boolean keepsIt;

        Machine(String id, long registeredAt) {
            this.id = id;
            this.registeredAt = registeredAt;
        }
    }

    Fleet with(UnaryOperator<RolloutSpec> change) {
        rollout = Rollout.of(rollout.name(), change.apply(rollout.spec()));
        return this;
    }

    /** As published now. */
    Rollout rollout() {
        return rollout;
    }

    RolloutSpec spec() {
        return rollout.spec();
    }

    void rename(String to) {
        rollout = Rollout.of(to, rollout.spec());
    }

    void join(int count) {
        for (int i = 0; i < count; i++) {
            machines.add(new Machine("vm-" + machines.size(), ++revision));
        }
    }

    void leave(String id) {
        machines.removeIf(machine -> machine.id.equals(id));
    }

    /** Has the machine behave so that stands there in the rollout's order, from 0. */
    String becomes(int place, Behaviour behaviour) {
        Machine machine = inOrder().get(place);
        machine.behaviour = behaviour;
        return machine.id;
    }

    void order(Action action) {
        order = new GivenOrder(new RolloutOrder(rollout.digest(), action, now, "ann"), ++revision);
    }

    void orderForAnother(Action action) {
        order = new GivenOrder(new RolloutOrder("another", action, now, "ann"), ++revision);
    }

    void pass(String time) {
        now = now.plus(Notation.duration(time).orElseThrow());
    }

    void setBack(String time) {
        now = now.minus(Notation.duration(time).orElseThrow());
    }

    void forgetState() {
        state = null;
    }

    /** What was decided is lost, and machines have what they had. */
    void loseState() {
        machines.forEach(machine -> machine.keepsIt = isAdmitted(machine));
        state = null;
    }

    /** How machines fare. */
    ImmutableSet<Standing.Kind> kinds() {
        return look().standings().stream().map(Standing::kind).collect(ImmutableSet.toImmutableSet());
    }

    /** How many machines go by the new revision. */
    long withNewRevision() {
        return machines.stream().filter(this::goesByTheNewOne).count();
    }

    private boolean goesByTheNewOne(Machine machine) {
        return isAdmitted(machine) || (machine.keepsIt && (state == null || state.phase() != Phase.ROLLED_BACK));
    }

    /** Decides once. */
    RolloutPlan look() {
        RolloutPlan plan = FleetPlanner.plan(situation());
        state = plan.state();
        return plan;
    }

    RolloutState state() {
        return look().state();
    }

    /** Decides, and has machines report, until nothing changes but with time: phase, open wave, machines that are let in. */
    String settled() {
        RolloutState before;
        RolloutState after;
        do {
            before = state;
            revision++;
            after = state();
        } while (!after.equals(before));
        return after.phase() + " " + (after.wave() + 1) + "/" + spec().waves().size() + " " + admitted();
    }

    /** Waits so long, and tells what comes of it. */
    String after(String time) {
        pass(time);
        return settled();
    }

    long admitted() {
        return machines.stream().filter(this::isAdmitted).count();
    }

    List<String> who() {
        return machines.stream()
                .filter(this::isAdmitted)
                .map(machine -> machine.id)
                .sorted()
                .toList();
    }

    RolloutSituation situation() {
        return new RolloutSituation(
                rollout,
                state,
                0,
                order,
                inOrder().stream()
                        .map(machine -> new Member(
                                machine.id, rollout.place(machine.id), machine.registeredAt, report(machine)))
                        .collect(ImmutableList.toImmutableList()),
                revision,
                now);
    }

    private List<Machine> inOrder() {
        return machines.stream()
                .sorted(Comparator.comparing(machine -> rollout.place(machine.id)))
                .toList();
    }

    private boolean isAdmitted(Machine machine) {
        return state != null && state.admits(rollout, machine.id, machine.registeredAt);
    }

    private @Nullable ImmutableList<ReportedWorkload> report(Machine machine) {
        if (machine.behaviour == Behaviour.SILENT) {
            return null;
        }
        String desired = goesByTheNewOne(machine) ? spec().to() : spec().from();
        Predicate<Behaviour> is = behaviour -> machine.behaviour == behaviour && desired.equals(spec().to());
        boolean isHeldUp = is.test(Behaviour.SLOW) || is.test(Behaviour.PAUSED) || is.test(Behaviour.FAILING);
        return ImmutableList.of(new ReportedWorkload(
                WORKLOAD,
                isHeldUp ? spec().from() : desired,
                desired,
                machine.behaviour == Behaviour.FAILING ? spec().to() : "",
                "Running",
                !is.test(Behaviour.NOT_CONVERGED),
                !is.test(Behaviour.UNHEALTHY),
                is.test(Behaviour.PAUSED),
                is.test(Behaviour.GIVING_UP),
                is.test(Behaviour.RESTARTED) ? 1 : 0,
                machine.behaviour == Behaviour.FAILING ? "exited with 3" : ""));
    }

    static IntStream places(int count) {
        return IntStream.range(0, count);
    }
}
