package io.homeostat.reconcile.fleet;

import com.google.common.collect.EnumMultiset;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMultiset;
import com.google.common.collect.Multiset;
import com.google.common.collect.Streams;
import io.homeostat.desired.fleet.MachineReport.ReportedWorkload;
import io.homeostat.desired.fleet.Rollout;
import io.homeostat.desired.fleet.RolloutOrder;
import io.homeostat.desired.fleet.RolloutOrder.Action;
import io.homeostat.desired.fleet.RolloutState;
import io.homeostat.desired.fleet.RolloutState.Phase;
import io.homeostat.desired.model.RolloutSpec;
import io.homeostat.desired.model.RolloutSpec.OnFailure;
import io.homeostat.desired.model.schema.Notation;
import io.homeostat.desired.model.schema.Portion;
import io.homeostat.reconcile.fleet.RolloutPlan.Example;
import io.homeostat.reconcile.fleet.RolloutPlan.Wave;
import io.homeostat.reconcile.fleet.RolloutSituation.GivenOrder;
import io.homeostat.reconcile.fleet.RolloutSituation.Member;
import java.time.Duration;
import java.time.Instant;
import java.util.Comparator;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Decides how far a rollout may go. Pure: the same situation leads to the same decision, and a decision that was written leads to no
 * other one until something changes, so whoever dies in between harms nothing.
 */
public final class FleetPlanner {
    private static final int EXAMPLES = 10;
    private static final int BEFORE_THE_FIRST = -1;

    private final RolloutSituation situation;
    private final Rollout rollout;
    private final RolloutSpec spec;
    private final ImmutableList<Member> members;
    private final Instant now;

    private FleetPlanner(RolloutSituation situation) {
        this.situation = situation;
        this.rollout = situation.rollout();
        this.spec = rollout.spec();
        this.members = situation.members();
        this.now = situation.now();
    }

    /** What is to be decided next. */
    public static RolloutPlan plan(RolloutSituation situation) {
        FleetPlanner planner = new FleetPlanner(situation);
        return planner.stands(
                planner.paced(planner.ordered(planner.withoutTimesToCome(planner.current(situation.state())))));
    }

    /** How it stands by what was decided last, for those who only look: nobody may ever decide what is to be decided next. */
    public static RolloutPlan asDecided(RolloutSituation situation) {
        FleetPlanner planner = new FleetPlanner(situation);
        return planner.stands(planner.current(situation.state()));
    }

    /** Whether an order changes anything about a rollout in this phase; otherwise it is followed by doing nothing. */
    public static boolean changes(Phase phase, Action action) {
        return switch (action) {
            case PAUSE -> phase == Phase.PROGRESSING;
            case RESUME -> phase != Phase.PROGRESSING && phase != Phase.COMPLETED;
            case ABORT -> phase == Phase.PROGRESSING || phase == Phase.PAUSED || phase == Phase.HALTED;
            case ROLLBACK -> phase != Phase.ROLLED_BACK;
        };
    }

    private RolloutPlan stands(RolloutState state) {
        Census census = new Census(state);
        return new RolloutPlan(
                state,
                waves(census),
                census.standings,
                census.failures,
                bound(census),
                examples(census),
                waitsFor(state, census),
                lookAgain(state));
    }

    /** What was decided of this rollout. */
    private RolloutState current(@Nullable RolloutState written) {
        return situation.hasBegun() && written != null ? written : beginning(0, "begins");
    }

    private RolloutState beginning(long order, String reason) {
        return new RolloutState(
                rollout.digest(),
                Phase.PROGRESSING,
                BEFORE_THE_FIRST,
                Rollout.NOBODY,
                situation.revision(),
                0,
                now,
                now,
                null,
                0,
                order,
                reason);
    }

    /** Somebody has set a clock back: what began in the future would never be over. */
    private RolloutState withoutTimesToCome(RolloutState state) {
        Change change = new Change(state);
        change.opened = earlier(state.opened());
        change.since = earlier(state.since());
        change.wellSince = state.wellSince() == null ? null : earlier(state.wellSince());
        return change.made();
    }

    private Instant earlier(Instant time) {
        return time.isAfter(now) ? now : time;
    }

    /** Follows an order that was not followed before. */
    private RolloutState ordered(RolloutState state) {
        GivenOrder given = situation.order();
        if (given == null || !situation.hasNewOrder()) {
            return state;
        }
        RolloutOrder order = given.order();
        Change change = new Change(state);
        change.order = given.revision();
        if (!changes(state.phase(), order.action())) {
            return change.made();
        }
        switch (order.action()) {
            case PAUSE -> change.to(Phase.PAUSED, "paused by " + order.by());
            case RESUME -> {
                if (state.phase() == Phase.ROLLED_BACK) {
                    return beginning(given.revision(), "begun anew by " + order.by());
                }
                boolean halted = state.phase() == Phase.HALTED;
                if (halted) {
                    change.forgiven = new Census(state).failures;
                }
                change.to(
                        Phase.PROGRESSING,
                        "resumed by " + order.by() + (halted ? ", failures so far are accepted" : ""));
            }
            case ABORT -> change.to(Phase.ABORTED, "aborted by " + order.by());
            case ROLLBACK -> change.back("rolled back by " + order.by());
        }
        return change.made();
    }

    /** Opens the next wave, or stops, as machines fare. */
    private RolloutState paced(RolloutState state) {
        if (state.phase() != Phase.PROGRESSING || members.isEmpty()) {
            return state;
        }
        Census census = new Census(state);
        Change change = new Change(state);
        if (census.failures - state.forgiven() > bound(census)) {
            String why = census.failures + " of " + census.admitted + " machines failed"
                    + census.examples(Standing.Kind.FAILED)
                            .findFirst()
                            .map(example -> ", such as " + example.machine() + ": "
                                    + example.standing().why())
                            .orElse("");
            if (spec.onFailure() == OnFailure.ROLL_BACK) {
                change.back(why);
            } else {
                change.to(Phase.HALTED, why);
            }
            return change.made();
        }
        if (state.wave() == BEFORE_THE_FIRST) {
            // The one that has room for all who have it already shows how they are, before others get it.
            return open(state, 0, Math.max(0, census.admitted - 1));
        }
        if (census.open > 0) {
            change.wellSince = null;
            return change.made();
        }
        if (state.wellSince() == null) {
            change.wellSince = now;
            state = change.made();
        }
        if (now.isBefore(holdsUntil(state))) {
            return state;
        }
        if (state.through().equals(Rollout.EVERYBODY)) {
            Change completed = new Change(state);
            completed.to(Phase.COMPLETED, "all machines were well for " + Notation.text(spec.hold()));
            return completed.made();
        }
        return open(state, state.wave() + 1, census.admitted);
    }

    /**
     * Lets in as many machines as a wave is for, of those that are there now. Were they to begin further to the front than what is open,
     * because many have come meanwhile, those that have come wait: nobody goes back to the old revision because others have come.
     */
    private RolloutState open(RolloutState state, int next, int admitted) {
        // There may be fewer waves than when the last one was opened.
        int wave = Math.min(next, spec.waves().size() - 1);
        while (!isLast(wave) && size(wave) <= admitted) {
            wave++;
        }
        Change change = new Change(state);
        change.wave = wave;
        change.opened = now;
        change.wellSince = null;
        if (isLast(wave)) {
            change.through = Rollout.EVERYBODY;
            change.asOf = situation.revision();
            change.machines = members.size();
        } else {
            Reach now = reach(members, size(wave));
            if (now.through().compareTo(state.through()) >= 0) {
                change.through = now.through();
                change.asOf = situation.revision();
                change.machines = now.machines();
            } else {
                Reach then = reach(
                        members.stream()
                                .filter(member -> member.registeredAt() <= state.asOf())
                                .collect(ImmutableList.toImmutableList()),
                        size(wave));
                boolean isMore = then.through().compareTo(state.through()) > 0;
                change.through = isMore ? then.through() : state.through();
                change.machines = isMore ? then.machines() : admitted;
            }
        }
        change.to(
                Phase.PROGRESSING, "wave " + (wave + 1) + " of " + spec.waves().size() + " is open");
        return change.made();
    }

    /**
     * How far a wave goes.
     *
     * @param through the last place that it lets in
     * @param machines how many have the new revision then, or may have it
     */
    private record Reach(String through, int machines) {}

    /** Lets in machines in their order until no more than so many have the new revision, wherever those stand that have it already. */
    private Reach reach(ImmutableList<Member> inOrder, int size) {
        int machines = (int) members.stream().filter(this::hasIt).count();
        String through = Rollout.NOBODY;
        for (Member member : inOrder) {
            if (!hasIt(member) && ++machines > size) {
                return new Reach(through, machines - 1);
            }
            through = member.place();
        }
        return new Reach(through, machines);
    }

    /** Whether a machine goes by the new revision of all workloads, as it says. */
    private boolean hasIt(Member member) {
        ImmutableList<ReportedWorkload> workloads = member.workloads();
        return workloads != null
                && spec.workloads().stream()
                        .allMatch(id -> workloads.stream()
                                .anyMatch(workload -> workload.id().equals(id)
                                        && workload.desired().equals(spec.to())));
    }

    /**
     * Whether a machine has its turn, or has had it: after a state was lost, or another rollout has brought the same revision, it keeps
     * what it has, unless all go back.
     */
    private boolean isIn(RolloutState state, Member member) {
        return state.admits(member.place(), member.registeredAt())
                || (state.phase() != Phase.ROLLED_BACK && hasIt(member));
    }

    private boolean isLast(int wave) {
        return wave >= spec.waves().size() - 1;
    }

    /** How many machines have the new revision when a wave is through. */
    private int size(int wave) {
        Portion portion = spec.waves().get(wave);
        return portion.ofRoundedUp(members.size());
    }

    private int bound(Census census) {
        return spec.maxFailures().ofRoundedDown(census.admitted);
    }

    private Instant holdsUntil(RolloutState state) {
        Instant since = state.wellSince();
        return since == null ? Instant.MAX : since.plus(spec.hold());
    }

    /** No time runs out while nobody may take the new revision. */
    private boolean isOverdue(RolloutState state) {
        Instant until = state.letsIn() ? now : state.since();
        return state.wave() != BEFORE_THE_FIRST
                && !until.isBefore(state.opened().plus(spec.timeout()));
    }

    private Optional<Instant> lookAgain(RolloutState state) {
        if (state.phase() != Phase.PROGRESSING || state.wave() == BEFORE_THE_FIRST) {
            return Optional.empty();
        }
        return Stream.of(state.opened().plus(spec.timeout()), holdsUntil(state))
                .filter(time -> time.isAfter(now) && time.isBefore(Instant.MAX))
                .min(Comparator.naturalOrder());
    }

    private String waitsFor(RolloutState state, Census census) {
        if (state.phase() != Phase.PROGRESSING) {
            return "";
        } else if (members.isEmpty()) {
            return "a machine that it is for";
        } else if (state.wave() == BEFORE_THE_FIRST) {
            return "a controller that opens its first wave";
        } else if (census.open > 0) {
            int silent = census.count(Standing.Kind.SILENT);
            return census.open + " of " + census.admitted + " machines" + (silent > 0 ? ", " + silent + " silent" : "");
        }
        return "the machines to have been well for " + Notation.text(spec.hold());
    }

    private ImmutableList<Example> examples(Census census) {
        return Stream.of(Standing.Kind.FAILED, Standing.Kind.WAITING, Standing.Kind.SILENT)
                .flatMap(census::examples)
                .limit(EXAMPLES)
                .collect(ImmutableList.toImmutableList());
    }

    private ImmutableList<Wave> waves(Census census) {
        ImmutableList.Builder<Wave> waves = ImmutableList.builder();
        int from = 0;
        for (int i = 0; i < spec.waves().size(); i++) {
            int to = isLast(i) ? members.size() : Math.max(from, size(i));
            waves.add(new Wave(census.standings.subList(from, to).stream()
                    .map(Standing::kind)
                    .collect(ImmutableMultiset.toImmutableMultiset())));
            from = to;
        }
        return waves.build();
    }

    /** How all machines fare, in their order. */
    private final class Census {
        private final ImmutableList<Standing> standings;
        private final Multiset<Standing.Kind> counts = EnumMultiset.create(Standing.Kind.class);
        private final int admitted;
        private final int failures;
        /** Those of whom it is not known what becomes of them. */
        private final int open;

        Census(RolloutState state) {
            boolean isOverdue = isOverdue(state);
            standings = members.stream()
                    .map(member -> isIn(state, member) ? Standing.of(member, spec, isOverdue) : Standing.NOT_ITS_TURN)
                    .collect(ImmutableList.toImmutableList());
            standings.forEach(standing -> counts.add(standing.kind()));
            admitted = members.size() - count(Standing.Kind.NOT_ITS_TURN);
            failures = count(Standing.Kind.FAILED);
            open = count(Standing.Kind.WAITING) + count(Standing.Kind.SILENT);
        }

        int count(Standing.Kind kind) {
            return counts.count(kind);
        }

        Stream<Example> examples(Standing.Kind kind) {
            return Streams.zip(
                            members.stream(),
                            standings.stream(),
                            (member, standing) -> new Example(member.id(), standing))
                    .filter(example -> example.standing().kind() == kind);
        }
    }

    /** A state on its way to the next one. */
    private final class Change {
        private final RolloutState before;
        private Phase phase;
        private int wave;
        private String through;
        private long asOf;
        private int machines;
        private Instant opened;
        private Instant since;
        private @Nullable Instant wellSince;
        private int forgiven;
        private long order;
        private String reason;

        Change(RolloutState before) {
            this.before = before;
            phase = before.phase();
            wave = before.wave();
            through = before.through();
            asOf = before.asOf();
            machines = before.machines();
            opened = before.opened();
            since = before.since();
            wellSince = before.wellSince();
            forgiven = before.forgiven();
            order = before.order();
            reason = before.reason();
        }

        void to(Phase next, String why) {
            if (!before.letsIn()) {
                // Machines have as much time left as when it stopped.
                opened = opened.plus(Duration.between(since, now));
            }
            phase = next;
            since = now;
            reason = why;
            wellSince = null;
        }

        void back(String why) {
            to(Phase.ROLLED_BACK, why);
            through = Rollout.NOBODY;
            machines = 0;
        }

        RolloutState made() {
            return new RolloutState(
                    before.digest(),
                    phase,
                    wave,
                    through,
                    asOf,
                    machines,
                    opened,
                    since,
                    wellSince,
                    forgiven,
                    order,
                    reason);
        }
    }
}
