package io.homeostat.reconcile.record;

import static io.homeostat.reconcile.plan.Example.NOW;
import static io.homeostat.reconcile.plan.Example.failed;
import static io.homeostat.reconcile.plan.Example.plugin;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.state.Event;
import io.homeostat.desired.state.EventType;
import io.homeostat.desired.state.history.Condition;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.observe.ObservedInstance.Liveness;
import io.homeostat.observe.ObservedInstance.Loss;
import io.homeostat.reconcile.plan.Example;
import io.homeostat.reconcile.plan.Planner;
import io.homeostat.reconcile.plan.Situation;
import io.homeostat.reconcile.plan.WorkloadPlan;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** When DRIFT_DETECTED is told: once for each drift that no other event tells of. */
class DriftEventTest {
    private static final Exit KILLED = new Exit(null, 9, Exit.Reason.SIGNALED, NOW);

    private record Row(Reason drift, Supplier<Example> example) {}

    @TestFactory
    Stream<DynamicTest> whatNobodyElseTellsOfIsTold() {
        return Stream.of(
                        new Row(
                                Reason.INSTALL_MISSING,
                                () -> plugin().wants("A")
                                        .provenAsDeclared()
                                        .active("A")
                                        .runs("A")),
                        new Row(Reason.INSTALL_DAMAGED, () -> damaged()),
                        new Row(
                                Reason.LINK_MOVED,
                                () -> plugin().wants("A")
                                        .provenAsDeclared()
                                        .installed("A")
                                        .runs("A")),
                        new Row(Reason.PROCESS_MISSING, () -> installed()),
                        new Row(Reason.PROCESS_SURPLUS, () -> running().runs("A")),
                        new Row(Reason.SOCKET_MISSING, () -> installed().lost("A", Loss.SOCKET)),
                        new Row(Reason.LOG_MISSING, () -> installed().lost("A", Loss.LOG)))
                .map(row -> DynamicTest.dynamicTest(row.drift().toString(), () -> {
                    Situation situation = row.example().get().learned().situation();
                    WorkloadPlan plan = Planner.plan(situation);
                    assertEquals(row.drift(), plan.reason());
                    Event event = ObservationRecorder.drift(situation, plan).orElseThrow();
                    assertEquals(EventType.DRIFT_DETECTED, event.type());
                    assertEquals("A", event.revision());
                    assertEquals(plan.message(), event.message());
                }));
    }

    @Test
    void whatIsToldOtherwiseIsNot() {
        assertEquals(Optional.empty(), told(running()), "nothing has moved");
        assertEquals(Optional.empty(), told(plugin().wants("A")), "an installation tells of itself");
        assertEquals(Optional.empty(), told(installed().ended("A", KILLED)), "the crash was told");
        assertEquals(Optional.empty(), told(installed().is("A", new Liveness.Orphaned(KILLED, 2))));
    }

    @Test
    void itIsToldOnceAndNotByEachTryOfTheRepair() {
        assertEquals(Optional.empty(), told(damaged().history(was(Reason.INSTALL_DAMAGED))));
        assertEquals(Optional.of("A"), told(damaged().history(was(Reason.LINK_MOVED))), "another drift than before");
        assertEquals(Optional.of("A"), told(damaged().history(was(Reason.AT_DESIRED_STATE))));
    }

    @Test
    void aRepairThatFailedBeforeHasBeenTold() {
        Example missing = plugin().wants("A").provenAsDeclared().active("A").runs("A");
        assertEquals(Optional.empty(), told(missing.history(was(Reason.INSTALL_FAILED))));
        assertEquals(Optional.empty(), told(damaged().history(was(Reason.INSTALL_FAILED))));
        assertEquals(
                Optional.of("A"),
                told(installed().history(was(Reason.INSTALL_FAILED))),
                "that its process is gone has nothing to do with an installation");
    }

    @Test
    void aSymlinkThatCouldNotBePutRightHasBeenTold() {
        Example moved = plugin().wants("A")
                .provenAsDeclared()
                .installed("A")
                .active("X")
                .runs("A");
        assertEquals(Optional.of("A"), told(moved));
        Example triedAgain = moved.attempts(attempts -> attempts.withUpkeep(failed(3, NOW.minusSeconds(3600))));
        assertEquals("activate LINK_MOVED: activate", triedAgain.planned());
        assertEquals(Optional.empty(), told(triedAgain));
    }

    @Test
    void onlyWhatWasSaidOfConvergenceCounts() {
        Example drift = damaged()
                .history(history -> history.withConditions(ImmutableList.of(
                        new Condition(
                                Condition.Type.CONVERGED, Condition.Status.TRUE, Reason.AT_DESIRED_STATE, "", NOW),
                        new Condition(
                                Condition.Type.HEALTHY, Condition.Status.FALSE, Reason.INSTALL_DAMAGED, "", NOW))));
        assertEquals(Optional.of("A"), told(drift));
    }

    private static UnaryOperator<WorkloadHistory> was(Reason reason) {
        return history -> history.withConditions(ImmutableList.of(
                new Condition(Condition.Type.CONVERGED, Condition.Status.FALSE, reason, "", NOW.minusSeconds(60))));
    }

    private static Example installed() {
        return plugin().wants("A").provenAsDeclared().installed("A").active("A");
    }

    private static Example running() {
        return installed().runs("A");
    }

    private static Example damaged() {
        return plugin().wants("A").provenAsDeclared().damaged("A").active("A").runs("A");
    }

    /** The revision that the event names, if there is one. */
    private static Optional<String> told(Example example) {
        Situation situation = example.learned().situation();
        return ObservationRecorder.drift(situation, Planner.plan(situation)).map(Event::revision);
    }
}
