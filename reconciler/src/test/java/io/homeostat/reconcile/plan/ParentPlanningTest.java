package io.homeostat.reconcile.plan;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.Iterables;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.observe.health.Health;
import io.homeostat.reconcile.plan.Relations.Need;
import io.homeostat.reconcile.plan.Relations.Parent;
import io.homeostat.reconcile.plan.Step.Stop.Cause;
import io.homeostat.reconcile.plan.Step.Wait;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** An instance that is part of its parent's: launched after it, and launched again when the parent's instance is another one. */
class ParentPlanningTest {
    private static final WorkloadId PARENT = WorkloadId.process("parent");

    @Test
    void aChildOfTheInstanceThatItsParentStillHasIsLeftAlone() {
        assertEquals(
                "none AT_DESIRED_STATE",
                child("first", partOf("first", Need.State.WELL)).planned());
    }

    @Test
    void aChildIsLaunchedAgainInTheInstanceThatItsParentHasNow() {
        WorkloadPlan plan = child("first", partOf("second", Need.State.WELL)).plan();

        assertEquals(Reason.PARENT_CHANGED, plan.reason());
        Step.Stop stop = assertInstanceOf(Step.Stop.class, plan.steps().get(0));
        assertEquals(Cause.REPAIRED, stop.cause(), "no change of its own, so it takes no place in a disruption budget");
        Step.Launch launch = assertInstanceOf(Step.Launch.class, plan.steps().get(1));
        assertEquals("second", launch.inputs(ImmutableMap.of()).get("parent"));
        assertEquals(2, plan.steps().size());
    }

    @Test
    void aChildThatWasLaunchedBeforeItHadAParentIsLaunchedAgainInIt() {
        assertEquals(
                "restart PARENT_CHANGED: stop launch",
                wanted().runs("A").among(partOf("first", Need.State.WELL)).planned());
    }

    @Test
    void aChildStaysUntilItsParentIsWellAgain() {
        WorkloadPlan plan = child("first", partOf("second", Need.State.COMING)).plan();

        assertEquals(Reason.PARENT_CHANGED, plan.reason());
        assertEquals(
                Wait.Kind.PROGRESS,
                assertInstanceOf(Wait.class, plan.steps().get(0)).kind());
        assertInstanceOf(Step.Stop.class, plan.steps().get(1));
    }

    @Test
    void aChildIsNotStoppedForAParentThatDoesNotBecomeWell() {
        assertEquals(
                "wait WAITING_FOR_DEPENDENCY: wait",
                child("first", partOf("second", Need.State.STUCK)).planned());
    }

    @Test
    void aParentThatIsDownHasNoOtherInstanceYet() {
        assertEquals(
                "none AT_DESIRED_STATE",
                child("first", partOf(null, Need.State.COMING)).planned());
    }

    @Test
    void aKindWhoseInstancesOutliveTheirParentsIsNotLaunchedAgain() {
        Relations recovered =
                relations(new Parent(new Need(PARENT, Need.State.WELL), "second", false), Need.State.WELL);

        assertEquals("none AT_DESIRED_STATE", child("first", recovered).planned());
    }

    @Test
    void aChildRunsOnAndIsNotAsDeclaredWhenNobodyDeclaresItsParent() {
        WorkloadPlan plan =
                child("first", partOf("first", Need.State.UNDECLARED)).plan();

        assertEquals(Reason.WAITING_FOR_DEPENDENCY, plan.reason());
        assertEquals(
                Wait.Kind.DECLARATION,
                assertInstanceOf(Wait.class, Iterables.getOnlyElement(plan.steps()))
                        .kind());
        assertTrue(plan.message().contains("launched again: process/parent "), plan.message());
    }

    @Test
    void aParentIsStoppedAfterItsParts() {
        Relations parts = withParts(WorkloadId.process("part"), WorkloadId.process("other"));

        WorkloadPlan plan =
                wanted().wants("B").installed("B").runs("A").among(parts).plan();

        Wait wait = assertInstanceOf(Wait.class, plan.steps().get(0));
        assertEquals(Wait.Kind.PROGRESS, wait.kind());
        assertEquals(parts.parts(), wait.parts());
        assertInstanceOf(Step.Stop.class, plan.steps().get(1));
        assertTrue(
                plan.message().endsWith("it is stopped after what runs in it: process/part, process/other"),
                plan.message());
    }

    @Test
    void theStopOfAParentThatHasFailedJustNowIsTriedLaterAndItsPartsRunOnUntilThen() {
        WorkloadPlan plan = wanted().wants("B")
                .installed("B")
                .runs("A")
                .attempts(attempts -> attempts.withUpkeep(Example.failed(1, Example.NOW)))
                .among(withParts(WorkloadId.process("part")))
                .plan();

        assertEquals(Reason.STEP_FAILED, plan.reason());
        assertEquals(ImmutableSet.of(), plan.parts());
        assertTrue(plan.message().startsWith("could not stop: "), plan.message());
    }

    @Test
    void aParentThatIsChangedIsNotLaunchedAgainBeforeForARestartThatIsAskedFor() {
        WorkloadPlan plan = wanted().knownGood("A")
                .wants("B")
                .installed("B")
                .runs("A")
                .history(history -> history.withRun(history.run().withAgain("launch-A0")))
                .among(withParts(WorkloadId.process("part")))
                .plan();

        assertEquals(Reason.REVISION_CHANGED, plan.reason());
    }

    @Test
    void aParentThatIsNotWellIsNotKeptForItsParts() {
        WorkloadPlan plan = wanted().wants("B")
                .installed("B")
                .runs(
                        "A",
                        Phase.STARTED,
                        Duration.ofHours(1),
                        Health.failed(Health.Verdict.UNHEALTHY, "sick", Example.NOW))
                .among(withParts(WorkloadId.process("part")))
                .plan();

        assertEquals(ImmutableSet.of(), plan.parts());
        assertTrue(plan.steps().stream().anyMatch(Step.Stop.class::isInstance), plan::toString);
    }

    @Test
    void aPartOfWhatIsToBeStoppedGoesFirstAndIsToComeBack() {
        Relations ending =
                relations(new Parent(new Need(PARENT, Need.State.COMING), "first", true, true), Need.State.COMING);

        WorkloadPlan plan = child("first", ending).plan();

        assertEquals("restart PARENT_CHANGED: stop", child("first", ending).planned());
        assertEquals(
                Cause.REPAIRED,
                assertInstanceOf(Step.Stop.class, plan.steps().get(0)).cause());
        assertEquals(
                "process/parent is to be stopped, and it is stopped before; it is launched again when that is well",
                plan.message());
        assertEquals(
                "restart PARENT_CHANGED: wait stop launch",
                child("before", ending).planned(),
                "what is in another instance is not killed with this one");
    }

    @Test
    void aPartOfWhatIsStoppedForGoodIsNotSaidToComeBack() {
        Relations ending = relations(
                new Parent(new Need(PARENT, Need.State.UNDECLARED), "first", true, true), Need.State.UNDECLARED);

        assertEquals("stop PARENT_CHANGED: stop", child("first", ending).planned());
    }

    private static Relations withParts(WorkloadId... parts) {
        return new Relations(
                ImmutableList.of(),
                ImmutableList.of(),
                ImmutableList.of(),
                ImmutableList.of(),
                null,
                null,
                ImmutableList.copyOf(parts),
                ImmutableSet.of());
    }

    @Test
    void whatOnlyDependsOnAnotherIsNeverLaunchedAgainForIt() {
        assertEquals(
                "none AT_DESIRED_STATE",
                child("first", relations(null, Need.State.WELL)).planned());
    }

    @Test
    void aChildIsLaunchedAfterItsParentAndInIt() {
        WorkloadPlan early = wanted().among(partOf(null, Need.State.COMING)).plan();
        assertInstanceOf(Wait.class, early.steps().get(0));

        WorkloadPlan plan = wanted().among(partOf("first", Need.State.WELL)).plan();
        Step.Launch launch = assertInstanceOf(Step.Launch.class, Iterables.getLast(plan.steps()));
        assertEquals("first", launch.parent());
    }

    @Test
    void whatIsUndoneIsLaunchedInTheParentThatItHad() {
        Parent before = new Parent(new Need(PARENT, Need.State.WELL), "first", true);
        Relations relations = new Relations(
                ImmutableList.of(), ImmutableList.of(), ImmutableList.of(), ImmutableList.of(), null, before);

        WorkloadPlan plan = undone(relations).plan();

        assertEquals(
                "first",
                assertInstanceOf(Step.Launch.class, Iterables.getLast(plan.steps()))
                        .parent());
    }

    @Test
    void whatIsUndoneWaitsForTheParentThatItHad() {
        Parent before = new Parent(new Need(PARENT, Need.State.UNDECLARED), null, true);
        Relations relations = new Relations(
                ImmutableList.of(), ImmutableList.of(), ImmutableList.of(), ImmutableList.of(), null, before);

        WorkloadPlan plan = undone(relations).plan();

        assertEquals(Reason.WAITING_FOR_DEPENDENCY, plan.reason());
    }

    private static Example undone(Relations relations) {
        return Example.process()
                .wants("B")
                .knownGood("A")
                .installed("A")
                .active("A")
                .undone(1, Example.NOW)
                .among(relations);
    }

    private static Example child(String launchedIn, Relations relations) {
        return wanted().runsIn(launchedIn, "A").among(relations);
    }

    private static Example wanted() {
        return Example.process().wants("A").provenAsDeclared().installed("A").active("A");
    }

    private static Relations partOf(@Nullable String instance, Need.State state) {
        return relations(new Parent(new Need(PARENT, state), instance, true), state);
    }

    private static Relations relations(@Nullable Parent parent, Need.State state) {
        return new Relations(
                ImmutableList.of(new Need(PARENT, state)),
                ImmutableList.of(),
                ImmutableList.of(),
                ImmutableList.of(),
                parent,
                null);
    }
}
