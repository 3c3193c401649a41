package io.homeostat.reconcile.plan;

import static io.homeostat.reconcile.plan.Example.NOW;
import static io.homeostat.reconcile.plan.Example.plugin;
import static io.homeostat.reconcile.plan.PlanningRow.row;

import io.homeostat.desired.state.history.Exit;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/** What is planned of what somebody wants to be left alone, or stopped. */
class HoldPlanningTest {
    private static final Exit KILLED = new Exit(137, 9, Exit.Reason.OOM_KILLED, NOW);

    @TestFactory
    Stream<DynamicTest> whatSomebodyPaused() {
        return PlanningRow.tests(pausing());
    }

    @TestFactory
    Stream<DynamicTest> whatSomebodyStopped() {
        return PlanningRow.tests(stopping());
    }

    private static List<PlanningRow> pausing() {
        return List.of(
                row(
                        "a paused workload is not installed",
                        "wait PAUSED: wait",
                        () -> plugin().wants("A").paused("why")),
                row(
                        "it is not upgraded",
                        "wait PAUSED: wait",
                        () -> plugin().wants("B")
                                .installed("A")
                                .active("A")
                                .runs("A")
                                .knownGood("A")
                                .paused("why")),
                row(
                        "it is not started again",
                        "wait PAUSED: wait",
                        () -> plugin().wants("A")
                                .installed("A")
                                .active("A")
                                .ended("A", KILLED)
                                .paused("why")),
                row(
                        "it is not removed",
                        "wait PAUSED: wait",
                        () -> plugin().wasWanted()
                                .installed("A")
                                .active("A")
                                .runs("A")
                                .paused("why")),
                row(
                        "one that is as declared waits, too: nobody would repair it",
                        "wait PAUSED: wait",
                        () -> plugin().wants("A")
                                .installed("A")
                                .active("A")
                                .runs("A")
                                .paused("why")),
                row("one that is gone still says so", "wait PAUSED: wait", () -> plugin().paused("why")),
                row(
                        "one that can't be seen says that first",
                        "wait CANNOT_OBSERVE: wait",
                        () -> plugin().wants("A").blind("no permission").paused("why")));
    }

    private static List<PlanningRow> stopping() {
        return List.of(
                row(
                        "what is to be stopped is, and then waits",
                        "stop STOPPED: stop wait",
                        () -> plugin().wants("A")
                                .installed("A")
                                .active("A")
                                .runs("A")
                                .knownGood("A")
                                .stopped("why")),
                row(
                        "it is not started again",
                        "wait STOPPED: wait",
                        () -> plugin().wants("A").installed("A").active("A").stopped("")),
                row(
                        "nor replaced by another revision",
                        "wait STOPPED: wait",
                        () -> plugin().wants("B")
                                .installed("A")
                                .active("A")
                                .knownGood("A")
                                .stopped("why")),
                row(
                        "but removed when nobody wants it any more",
                        "remove NO_LONGER_DECLARED: stop remove",
                        () -> plugin().wasWanted()
                                .installed("A")
                                .active("A")
                                .runs("A")
                                .stopped("why")),
                row(
                        "one that can't be seen says that first",
                        "wait CANNOT_OBSERVE: wait",
                        () -> plugin().wants("A").blind("no permission").stopped("why")));
    }
}
