package io.homeostat.reconcile.fleet;

import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.fleet.MachineReport.ReportedWorkload;
import io.homeostat.desired.fleet.Rollout;
import io.homeostat.desired.fleet.RolloutState;
import io.homeostat.desired.fleet.RolloutState.Phase;
import io.homeostat.reconcile.fleet.FleetInvariants.Invariant;
import io.homeostat.reconcile.fleet.FleetInvariants.Violation;
import io.homeostat.reconcile.fleet.RolloutSituation.Member;
import io.homeostat.reconcile.sim.CommitSeed;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;

/**
 * Plays simulated histories of fleets, a different set for each commit; every fiftieth has three hundred machines, and every two
 * thousandth, with {@code -Pnightly} only, ten thousand. {@code -Dsimulation.seed=N} plays that one alone, {@code -Dsimulation.seeds=N}
 * so many.
 */
@Isolated("Takes every processor.")
class FleetSimulationTest {
    private static final boolean NIGHTLY = Boolean.getBoolean("nightly");
    private static final int SEEDS = Integer.getInteger("simulation.seeds", NIGHTLY ? 2000 : 25);

    @Test
    void everyHistoryKeepsItsInvariantsAndConvergesOnceFaultsStop() throws Exception {
        Long only = Long.getLong("simulation.seed");
        long first = only == null ? CommitSeed.first() : only;
        LongStream.range(first, only == null ? first + SEEDS : first + 1)
                .filter(seed -> NIGHTLY || only != null || !FleetSimulation.hasVeryMany(seed))
                .parallel()
                .mapToObj(seed -> failure(seed, FleetPlanner::plan))
                .flatMap(Optional::stream)
                .findFirst()
                .ifPresent(found -> fail(found.story(), found.violation()));
    }

    @Test
    void aPlannerThatOpensTooMuchIsFound() {
        assertFinds(
                1,
                Invariant.NO_MORE_THAN_OPEN,
                situation ->
                        with(situation, state -> state.wave() == 0 ? letting(state, 0, Rollout.EVERYBODY) : state));
    }

    @Test
    void aPlannerThatSeesNoFailuresIsFound() {
        assertFinds(
                5,
                Invariant.STOPS_PROMPTLY,
                situation -> FleetPlanner.plan(situation(situation, FleetSimulationTest::asIfWell)));
    }

    @Test
    void aPlannerThatGoesOnAfterFailuresIsFound() {
        assertFinds(
                35,
                Invariant.NOTHING_OPENS_ON_FAILURES,
                situation -> with(
                        situation,
                        state -> state.phase() == Phase.HALTED
                                ? letting(
                                        state,
                                        situation.rollout().spec().waves().size() - 1,
                                        Rollout.EVERYBODY)
                                : state));
    }

    @Test
    void aPlannerThatTakesSilenceForHealthIsFound() {
        assertFinds(
                8,
                Invariant.NOTHING_OPENS_ON_SILENCE,
                situation -> FleetPlanner.plan(situation(
                        situation,
                        member -> member.workloads() == null
                                ? new Member(
                                        member.id(),
                                        member.place(),
                                        member.registeredAt(),
                                        ImmutableList.of(well(situation.rollout())))
                                : member)));
    }

    @Test
    void aPlannerThatOverlooksWhoHasItAlreadyIsFound() {
        assertFinds(
                3,
                Invariant.NO_MORE_THAN_OPEN,
                situation -> FleetPlanner.plan(
                        situation(situation, member -> isAdmitted(situation, member) ? member : silent(member))));
    }

    private static boolean isAdmitted(RolloutSituation situation, Member member) {
        RolloutState state = situation.state();
        return state != null && situation.hasBegun() && state.admits(member.place(), member.registeredAt());
    }

    private static Member silent(Member member) {
        return new Member(member.id(), member.place(), member.registeredAt(), null);
    }

    @Test
    void aPlannerThatNeverGoesOnIsFound() {
        assertFinds(
                1,
                Invariant.CONVERGES,
                situation -> with(
                        situation, state -> state.wave() > 0 && situation.state() != null ? situation.state() : state));
    }

    /** @param known a seed that shows it, which is tried first */
    private static void assertFinds(long known, Invariant expected, Function<RolloutSituation, RolloutPlan> planner) {
        assertTrue(
                LongStream.concat(LongStream.of(known), LongStream.range(1, 100))
                        .mapToObj(seed -> failure(seed, planner))
                        .flatMap(Optional::stream)
                        .anyMatch(failure -> failure.violation().invariant == expected),
                "no history has shown it");
    }

    private record Failure(Violation violation, String story) {}

    private static Optional<Failure> failure(long seed, Function<RolloutSituation, RolloutPlan> planner) {
        FleetSimulation simulation = new FleetSimulation(seed, planner);
        try {
            simulation.play();
            return Optional.empty();
        } catch (Violation e) {
            return Optional.of(new Failure(e, "seed " + seed + "\n" + simulation.story()));
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private static RolloutPlan with(RolloutSituation situation, Function<RolloutState, RolloutState> change) {
        RolloutPlan plan = FleetPlanner.plan(situation);
        return new RolloutPlan(
                change.apply(plan.state()),
                plan.waves(),
                plan.standings(),
                plan.failures(),
                plan.bound(),
                plan.examples(),
                plan.waitsFor(),
                plan.lookAgain());
    }

    private static RolloutState letting(RolloutState state, int wave, String through) {
        return new RolloutState(
                state.digest(),
                Phase.PROGRESSING,
                wave,
                through,
                state.asOf(),
                state.machines(),
                state.opened(),
                state.since(),
                state.wellSince(),
                state.forgiven(),
                state.order(),
                state.reason());
    }

    private static RolloutSituation situation(RolloutSituation situation, Function<Member, Member> change) {
        return new RolloutSituation(
                situation.rollout(),
                situation.state(),
                situation.stateRevision(),
                situation.order(),
                situation.members().stream().map(change).collect(ImmutableList.toImmutableList()),
                situation.revision(),
                situation.now());
    }

    private static Member asIfWell(Member member) {
        ImmutableList<ReportedWorkload> workloads = member.workloads();
        return workloads == null
                ? member
                : new Member(
                        member.id(),
                        member.place(),
                        member.registeredAt(),
                        workloads.stream()
                                .map(workload -> well(workload.id(), workload.desired()))
                                .collect(ImmutableList.toImmutableList()));
    }

    private static ReportedWorkload well(Rollout rollout) {
        return well(rollout.spec().workloads().getFirst(), rollout.spec().to());
    }

    private static ReportedWorkload well(String id, String revision) {
        return new ReportedWorkload(id, revision, revision, "", "Running", true, true, false, false, 0, "");
    }
}
