package io.homeostat.reconcile.fleet;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMultiset;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.fleet.Rollout;
import io.homeostat.desired.fleet.RolloutOrder.Action;
import io.homeostat.desired.fleet.RolloutState.Phase;
import io.homeostat.desired.model.RolloutSpec;
import io.homeostat.desired.model.RolloutSpec.Need;
import io.homeostat.desired.model.RolloutSpec.OnFailure;
import io.homeostat.desired.model.schema.Notation;
import io.homeostat.desired.model.schema.Portion;
import io.homeostat.reconcile.fleet.Fleet.Behaviour;
import io.homeostat.reconcile.fleet.RolloutPlan.Wave;
import java.time.Duration;
import java.util.List;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** A rollout step by step: phase, open wave of all, machines that have the new revision. */
class FleetPlannerTest {
    private final Fleet fleet = new Fleet(100, "1 10% 50% 100%");

    @Test
    void wavesOpenOneAfterTheOther() {
        assertEquals("PROGRESSING 1/4 1", fleet.settled());
        assertEquals("PROGRESSING 1/4 1", fleet.after("4m"));
        assertEquals("PROGRESSING 2/4 10", fleet.after("1m"));
        assertEquals("PROGRESSING 3/4 50", fleet.after("5m"));
        assertEquals("PROGRESSING 4/4 100", fleet.after("5m"));
        assertEquals("COMPLETED 4/4 100", fleet.after("5m"));
    }

    @Test
    void itSaysWhenToLookAgain() {
        fleet.settled();
        assertEquals(
                fleet.situation().now().plus(Duration.ofMinutes(5)),
                fleet.look().lookAgain().orElseThrow());

        fleet.becomes(0, Behaviour.SLOW);
        assertEquals(
                fleet.situation().now().plus(Duration.ofMinutes(30)),
                fleet.look().lookAgain().orElseThrow());

        fleet.order(Action.PAUSE);
        assertTrue(fleet.look().lookAgain().isEmpty());
    }

    @Test
    void theSameSeedChoosesTheSameMachines() {
        Fleet other = new Fleet(100, "10 100%");
        Fleet same = new Fleet(100, "10 100%");
        fleet.with(waves("10", "100%"));
        other.rename("other");
        same.rename("same");
        same.with(seed("web"));
        List.of(fleet, other, same).forEach(Fleet::settled);

        assertEquals(fleet.who(), same.who());
        assertTrue(!fleet.who().equals(other.who()), "another seed chooses others");
    }

    @Test
    void wavesThatLetNobodyInAreLeftOut() {
        Fleet small = new Fleet(3, "1 10% 20% 100%");

        assertEquals("PROGRESSING 1/4 1", small.settled());
        assertEquals("PROGRESSING 4/4 3", small.after("5m"));
    }

    @Test
    void machinesThatHaveItAlreadyCountAfterTheStateWasLost() {
        fleet.settled();
        assertEquals("PROGRESSING 2/4 10", fleet.after("5m"));
        // They stand between those that have it.
        fleet.join(100);
        fleet.loseState();

        assertTrue(fleet.settled().startsWith("PROGRESSING 2/4 "), "the first wave has no room for ten");
        assertEquals(20, fleet.withNewRevision());
        assertEquals(20, fleet.state().machines());
        fleet.after("5m");
        assertEquals(100, fleet.withNewRevision());
        assertEquals("PROGRESSING 4/4 200", fleet.after("5m"));
        assertEquals("COMPLETED 4/4 200", fleet.after("5m"));
    }

    @Test
    void whoHasItAlreadyIsAskedFirstHowItIs() {
        fleet.settled();
        String canary = fleet.who().getFirst();
        fleet.loseState();
        fleet.settled();
        assertEquals(List.of(canary), fleet.who());
        fleet.after("5m");
        fleet.loseState();
        fleet.settled();
        fleet.becomes(9, Behaviour.RESTARTED);

        assertEquals("HALTED 2/4 10", fleet.settled());
        assertEquals(10, fleet.withNewRevision());
    }

    @Test
    void nothingOpensWhereWhoHasItAlreadyHasFailed() {
        fleet.settled();
        fleet.after("5m");
        fleet.loseState();
        fleet.becomes(9, Behaviour.RESTARTED);

        assertEquals("HALTED 0/4 0", fleet.settled());
        fleet.order(Action.RESUME);
        assertEquals("PROGRESSING 2/4 10", fleet.settled());
    }

    @Test
    void whoGoesBackDoesNotCount() {
        fleet.settled();
        fleet.after("5m");
        fleet.loseState();
        fleet.settled();
        fleet.order(Action.ROLLBACK);

        assertEquals("ROLLED_BACK 2/4 0", fleet.settled());
        assertEquals(0, fleet.withNewRevision());
        assertEquals(ImmutableSet.of(Standing.Kind.NOT_ITS_TURN), fleet.kinds());
    }

    @Test
    void nothingOpensWhereThereIsNoMachine() {
        Fleet empty = new Fleet(0, "1 100%");

        assertEquals("PROGRESSING 0/2 0", empty.after("24h"));
        assertEquals("a machine that it is for", empty.look().waitsFor());
        empty.join(5);
        assertEquals("PROGRESSING 1/2 1", empty.settled());
    }

    @Test
    void theHoldBeginsAnewWhenAMachineIsNotWellAnyMore() {
        fleet.settled();
        fleet.pass("4m");
        fleet.becomes(0, Behaviour.UNHEALTHY);
        fleet.settled();
        fleet.becomes(0, Behaviour.WELL);
        fleet.settled();

        assertEquals("PROGRESSING 1/4 1", fleet.after("4m"));
        assertEquals("PROGRESSING 2/4 10", fleet.after("1m"));
    }

    @ParameterizedTest
    @EnumSource(names = {"FAILING", "GIVING_UP", "RESTARTED"})
    void aCanaryThatFailsHaltsItAtOnce(Behaviour behaviour) {
        fleet.becomes(0, behaviour);

        assertEquals("HALTED 1/4 1", fleet.settled());
        assertEquals("HALTED 1/4 1", fleet.after("24h"));
    }

    @ParameterizedTest
    @EnumSource(names = {"SLOW", "UNHEALTHY", "NOT_CONVERGED", "PAUSED", "SILENT"})
    void oneThatIsNotWellIsWaitedForUntilItsTimeIsOver(Behaviour behaviour) {
        fleet.becomes(0, behaviour);

        assertEquals("PROGRESSING 1/4 1", fleet.settled());
        assertEquals("PROGRESSING 1/4 1", fleet.after("29m"));
        assertEquals("HALTED 1/4 1", fleet.after("1m"));
    }

    @ParameterizedTest
    @CsvSource({"RESTARTED, NO_RESTARTS", "UNHEALTHY, HEALTHY", "NOT_CONVERGED, CONVERGED"})
    void whatIsNotAskedOfMachinesHoldsNothingUp(Behaviour behaviour, Need need) {
        fleet.becomes(0, behaviour);
        fleet.with(needs(ImmutableSet.copyOf(Need.values()).stream()
                .filter(other -> other != need)
                .collect(ImmutableList.toImmutableList())));
        fleet.settled();

        assertEquals("PROGRESSING 2/4 10", fleet.after("5m"));
    }

    @Test
    void theReasonNamesAMachineAndWhatItSaid() {
        String canary = fleet.becomes(0, Behaviour.FAILING);
        fleet.settled();

        assertEquals(
                "1 of 1 machines failed, such as " + canary + ": process/web failed: exited with 3",
                fleet.state().reason());
    }

    @Test
    void aSilentMachineIsCountedAsSilent() {
        fleet.becomes(0, Behaviour.SILENT);
        fleet.settled();

        RolloutPlan plan = fleet.look();
        assertEquals("1 of 1 machines, 1 silent", plan.waitsFor());
        assertEquals(
                List.of(
                        new Wave(ImmutableMultiset.of(Standing.Kind.SILENT)),
                        new Wave(nobody(9)),
                        new Wave(nobody(40)),
                        new Wave(nobody(50))),
                plan.waves());
    }

    @ParameterizedTest
    @CsvSource({
        // Of 10 machines whose wave is open.
        "0,    1, HALTED",
        "1,    1, PROGRESSING",
        "1,    2, HALTED",
        "9%,   1, HALTED",
        "10%,  1, PROGRESSING",
        "25%,  2, PROGRESSING",
        "25%,  3, HALTED",
        "100%, 10, PROGRESSING",
    })
    void itStopsWhenMoreHaveFailedThanMay(String bound, int failing, Phase phase) {
        fleet.with(waves("10", "100%"));
        fleet.with(maxFailures(bound));
        fleet.settled();
        Fleet.places(failing).forEach(place -> fleet.becomes(place, Behaviour.FAILING));

        assertEquals(phase + " 1/2 10", fleet.settled());
    }

    @Test
    void failuresWithinTheBoundDoNotHoldItUp() {
        fleet.with(maxFailures("1"));
        fleet.becomes(0, Behaviour.FAILING);
        fleet.settled();

        assertEquals("PROGRESSING 2/4 10", fleet.after("5m"));
    }

    @Test
    void allGoBackWhereThatIsWanted() {
        fleet.with(onFailure(OnFailure.ROLL_BACK));
        fleet.settled();
        assertEquals("PROGRESSING 2/4 10", fleet.after("5m"));
        fleet.becomes(7, Behaviour.FAILING);

        assertEquals("ROLLED_BACK 2/4 0", fleet.settled());
        assertEquals("ROLLED_BACK 2/4 0", fleet.after("24h"));
    }

    @Test
    void whoeverComesInBetweenWaitsForTheNextWave() {
        Fleet small = new Fleet(10, "50% 100%");
        assertEquals("PROGRESSING 1/2 5", small.settled());
        small.join(90);

        assertEquals("PROGRESSING 1/2 5", small.after("4m"));
        assertEquals("PROGRESSING 2/2 100", small.after("1m"));
        assertEquals("COMPLETED 2/2 100", small.after("5m"));
        small.join(1);
        assertEquals("COMPLETED 2/2 101", small.settled());
    }

    /** The canary of 4 may well be behind a quarter of all. */
    @Test
    void nobodyGoesBackBecauseOthersHaveCome() {
        for (int i = 0; i < 15; i++) {
            Fleet small = new Fleet(4, "2 30 100%");
            small.rename("rollout-" + i);
            small.settled();
            List<String> first = small.who();
            small.join(96);

            assertEquals("PROGRESSING 1/3 2", small.settled());
            small.pass("5m");
            small.settled();

            assertTrue(small.who().containsAll(first), "of " + first + " some went back");
            assertTrue(small.admitted() <= 30, small.admitted() + " have the new revision, 30 may");
        }
    }

    @Test
    void machinesThatAreTakenAwayAreNotWaitedFor() {
        String canary = fleet.becomes(0, Behaviour.SILENT);
        fleet.settled();
        fleet.leave(canary);
        fleet.settled();

        assertEquals("PROGRESSING 2/4 10", fleet.after("5m"));
    }

    @Test
    void aPausedOneStaysWhereItIs() {
        fleet.settled();
        fleet.order(Action.PAUSE);
        assertEquals("PAUSED 1/4 1", fleet.after("24h"));
        assertEquals("paused by ann", fleet.state().reason());

        fleet.order(Action.RESUME);
        assertEquals("PROGRESSING 1/4 1", fleet.settled());
        assertEquals("PROGRESSING 2/4 10", fleet.after("5m"));
    }

    @Test
    void whatFailedDuringAPauseStopsItAfterwards() {
        fleet.settled();
        fleet.order(Action.PAUSE);
        fleet.becomes(0, Behaviour.FAILING);
        assertEquals("PAUSED 1/4 1", fleet.settled());

        fleet.order(Action.RESUME);
        assertEquals("HALTED 1/4 1", fleet.settled());
    }

    @Test
    void aResumeAfterAHaltAcceptsTheFailuresSoFar() {
        fleet.becomes(0, Behaviour.FAILING);
        fleet.settled();
        fleet.order(Action.RESUME);

        assertEquals("PROGRESSING 1/4 1", fleet.settled());
        assertEquals("PROGRESSING 2/4 10", fleet.after("5m"));
        fleet.becomes(5, Behaviour.FAILING);
        assertEquals("HALTED 2/4 10", fleet.settled());
    }

    @Test
    void aResumeAcceptsWhatWasNotWellInTime() {
        fleet.becomes(0, Behaviour.SILENT);
        fleet.settled();
        assertEquals("HALTED 1/4 1", fleet.after("30m"));
        fleet.order(Action.RESUME);

        assertEquals("PROGRESSING 1/4 1", fleet.settled());
        assertEquals("PROGRESSING 2/4 10", fleet.after("5m"));
    }

    @Test
    void anAbortedOneLeavesMachinesWhatTheyHave() {
        fleet.settled();
        fleet.order(Action.ABORT);
        assertEquals("ABORTED 1/4 1", fleet.after("24h"));

        fleet.order(Action.RESUME);
        fleet.settled();
        assertEquals("PROGRESSING 2/4 10", fleet.after("5m"));
    }

    @Test
    void aResumeForgivesOnlyWhatHadFailedWhenItHalted() {
        fleet.settled();
        fleet.after("5m");
        Fleet.places(9).skip(2).forEach(place -> fleet.becomes(place, Behaviour.SLOW));
        fleet.becomes(9, Behaviour.SILENT);
        fleet.becomes(1, Behaviour.FAILING);
        assertEquals("HALTED 2/4 10", fleet.settled());
        fleet.after("2h");

        fleet.order(Action.RESUME);
        assertEquals("PROGRESSING 2/4 10", fleet.settled());
        assertEquals(1, fleet.state().forgiven());
        assertEquals("PROGRESSING 2/4 10", fleet.after("29m"));
        assertEquals("HALTED 2/4 10", fleet.after("1m"));
    }

    @ParameterizedTest
    @CsvSource({"SLOW, PAUSE", "SLOW, ABORT", "SILENT, PAUSE", "SILENT, ABORT"})
    void noTimeRunsOutWhileNobodyIsLetIn(Behaviour behaviour, Action second) {
        fleet.with(onFailure(OnFailure.ROLL_BACK));
        fleet.becomes(0, behaviour);
        fleet.settled();
        fleet.after("10m");
        fleet.order(Action.PAUSE);
        fleet.settled();
        fleet.pass("1h");
        fleet.order(second);
        fleet.settled();
        fleet.pass("1h");
        assertFalse(fleet.kinds().contains(Standing.Kind.FAILED));

        fleet.order(Action.RESUME);
        assertEquals("PROGRESSING 1/4 1", fleet.settled());
        assertEquals("PROGRESSING 1/4 1", fleet.after("19m"));
        assertEquals("ROLLED_BACK 1/4 0", fleet.after("1m"));
    }

    @Test
    void aRollbackIsOrderedAtAnyTime() {
        fleet.settled();
        Fleet.places(4).forEach(wave -> fleet.after("5m"));
        assertEquals("COMPLETED 4/4 100", fleet.settled());
        fleet.order(Action.ROLLBACK);

        assertEquals("ROLLED_BACK 4/4 0", fleet.after("24h"));
    }

    @Test
    void aResumeAfterARollbackBeginsAnew() {
        fleet.becomes(0, Behaviour.FAILING);
        fleet.settled();
        fleet.order(Action.ROLLBACK);
        assertEquals("ROLLED_BACK 1/4 0", fleet.settled());
        fleet.becomes(0, Behaviour.WELL);
        fleet.order(Action.RESUME);

        assertEquals("PROGRESSING 1/4 1", fleet.settled());
    }

    @ParameterizedTest
    @EnumSource(
            value = Action.class,
            names = {"PAUSE", "RESUME", "ABORT"})
    void whatIsCompletedStaysSo(Action action) {
        fleet.settled();
        Fleet.places(4).forEach(wave -> fleet.after("5m"));
        fleet.order(action);

        assertEquals("COMPLETED 4/4 100", fleet.settled());
    }

    @Test
    void anOrderIsFollowedOnce() {
        fleet.becomes(0, Behaviour.FAILING);
        fleet.settled();
        fleet.order(Action.RESUME);
        assertEquals("PROGRESSING 1/4 1", fleet.settled());
        fleet.after("5m");
        fleet.becomes(1, Behaviour.FAILING);

        assertEquals("HALTED 2/4 10", fleet.settled());
    }

    @Test
    void anOrderForAnotherRolloutOfThisNameDoesNotCount() {
        fleet.settled();
        fleet.orderForAnother(Action.ROLLBACK);

        assertEquals("PROGRESSING 1/4 1", fleet.settled());
    }

    @Test
    void anotherRevisionBeginsAnew() {
        fleet.settled();
        fleet.after("5m");
        fleet.with(spec ->
                with(spec, spec.waves(), spec.maxFailures(), spec.onFailure(), spec.health(), "3", spec.seed()));

        assertEquals("PROGRESSING 1/4 1", fleet.settled());
    }

    @Test
    void anotherPaceGoesOnFromWhereItIs() {
        fleet.settled();
        assertEquals("PROGRESSING 2/4 10", fleet.after("5m"));
        fleet.with(waves("1", "2", "30%", "100%"));

        assertEquals("PROGRESSING 3/4 30", fleet.after("5m"));
        fleet.with(waves("1", "100%"));
        assertEquals("PROGRESSING 2/2 100", fleet.after("5m"));
        assertEquals("COMPLETED 2/2 100", fleet.after("5m"));
    }

    @Test
    void aClockThatIsSetBackDoesNotHoldItUpForLonger() {
        fleet.settled();
        fleet.setBack("9000h");

        assertEquals("PROGRESSING 1/4 1", fleet.settled());
        assertEquals("PROGRESSING 2/4 10", fleet.after("5m"));
    }

    @Test
    void theSameSituationLeadsToTheSameDecision() {
        fleet.settled();
        RolloutSituation situation = fleet.situation();

        assertEquals(FleetPlanner.plan(situation), FleetPlanner.plan(situation));
        assertEquals(situation.state(), FleetPlanner.plan(situation).state());
    }

    @Test
    void aLostStateBeginsAnewAndSaysSo() {
        fleet.settled();
        fleet.after("5m");
        fleet.forgetState();

        assertEquals(
                Rollout.NOBODY,
                FleetPlanner.plan(new RolloutSituation(
                                fleet.rollout(),
                                null,
                                0,
                                null,
                                ImmutableList.of(),
                                1,
                                fleet.situation().now()))
                        .state()
                        .through());
        assertEquals("PROGRESSING 1/4 1", fleet.settled());
    }

    private static ImmutableMultiset<Standing.Kind> nobody(int machines) {
        return ImmutableMultiset.<Standing.Kind>builder()
                .addCopies(Standing.Kind.NOT_ITS_TURN, machines)
                .build();
    }

    private static UnaryOperator<RolloutSpec> waves(String... waves) {
        ImmutableList<Portion> portions = ImmutableList.copyOf(waves).stream()
                .map(wave -> Notation.portion(wave).orElseThrow())
                .collect(ImmutableList.toImmutableList());
        return spec ->
                with(spec, portions, spec.maxFailures(), spec.onFailure(), spec.health(), spec.to(), spec.seed());
    }

    private static UnaryOperator<RolloutSpec> maxFailures(String bound) {
        return spec -> with(
                spec,
                spec.waves(),
                Notation.portion(bound).orElseThrow(),
                spec.onFailure(),
                spec.health(),
                spec.to(),
                spec.seed());
    }

    private static UnaryOperator<RolloutSpec> onFailure(OnFailure what) {
        return spec -> with(spec, spec.waves(), spec.maxFailures(), what, spec.health(), spec.to(), spec.seed());
    }

    private static UnaryOperator<RolloutSpec> needs(ImmutableList<Need> health) {
        return spec -> with(spec, spec.waves(), spec.maxFailures(), spec.onFailure(), health, spec.to(), spec.seed());
    }

    private static UnaryOperator<RolloutSpec> seed(String seed) {
        return spec -> with(spec, spec.waves(), spec.maxFailures(), spec.onFailure(), spec.health(), spec.to(), seed);
    }

    private static RolloutSpec with(
            RolloutSpec spec,
            ImmutableList<Portion> waves,
            Portion maxFailures,
            OnFailure onFailure,
            ImmutableList<Need> health,
            String to,
            @Nullable String seed) {
        return new RolloutSpec(
                spec.workloads(),
                spec.from(),
                to,
                waves,
                spec.hold(),
                spec.timeout(),
                health,
                maxFailures,
                onFailure,
                seed);
    }
}
