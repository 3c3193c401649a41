package io.homeostat.reconcile.plan;

import static io.homeostat.reconcile.plan.Example.NOW;
import static io.homeostat.reconcile.plan.Example.failed;
import static io.homeostat.reconcile.plan.Example.plugin;
import static io.homeostat.reconcile.plan.PlanningRow.row;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.Iterables;
import io.homeostat.desired.state.EventType;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.StateStore.Change;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.observe.ObservedInstance.Liveness;
import io.homeostat.reconcile.record.ObservationRecorder;
import io.homeostat.reconcile.record.ObservationRecorder.Learned;
import io.homeostat.reconcile.record.Outcome;
import io.homeostat.reconcile.record.OutcomeRecorder;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** An older copy of the state was put back: what was launched since runs, and nobody knows it. */
class UnknownInstanceTest {
    private static final Exit KILLED = new Exit(null, 9, Exit.Reason.SIGNALED, NOW);

    @TestFactory
    Stream<DynamicTest> itEndsBeforeAnythingElseIsDone() {
        return PlanningRow.tests(List.of(
                row(
                        "nothing is launched beside it",
                        "restart PROCESS_UNKNOWN: stop launch start",
                        () -> installed().unknown("x")),
                row(
                        "not even a download goes before",
                        "install PROCESS_UNKNOWN: stop download unpack activate launch start",
                        () -> plugin().wants("B").unknown("x")),
                row(
                        "what is known runs on",
                        "stop PROCESS_UNKNOWN: stop",
                        () -> installed().runs("A").unknown("x")),
                row(
                        "all of them end",
                        "restart PROCESS_UNKNOWN: stop stop launch start",
                        () -> installed().unknown("x").unknown("y")),
                row(
                        "so does what one has left behind that nobody could finish stopping",
                        "restart PROCESS_UNKNOWN: stop launch start",
                        () -> installed().unknown("x", new Liveness.Orphaned(KILLED, 2))),
                row("nobody has to declare it", "stop PROCESS_UNKNOWN: stop", () -> plugin().unknown("x")),
                row(
                        "what only it has in common with a lost database is left alone",
                        "stop PROCESS_UNKNOWN: stop wait",
                        () -> plugin().installed("A").unknown("x")),
                row(
                        "what is withdrawn is removed after it",
                        "remove PROCESS_UNKNOWN: stop remove",
                        () -> plugin().wasWanted().knownGood("A").installed("A").unknown("x")),
                row(
                        "what is stopped stays so",
                        "stop PROCESS_UNKNOWN: stop wait",
                        () -> installed().stopped("maintenance").unknown("x")),
                row(
                        "who wants a workload left alone has all of it left alone, and nothing launched",
                        "wait PAUSED: wait",
                        () -> installed().paused("debugging").unknown("x")),
                row(
                        "while it can't be stopped nothing is launched",
                        "wait STEP_FAILED: wait",
                        () -> installed()
                                .attempts(attempts -> attempts.withUpkeep(failed(1, NOW)))
                                .unknown("x"))));
    }

    @Test
    void thePlanNamesIt() {
        assertEquals(
                "running, but unknown to the state: launch x, pid 7; launch y, pid 7",
                installed().runs("A").unknown("x").unknown("y").plan().message());
    }

    @Test
    void whileTheWorkloadIsPausedItIsNamedToo() {
        String known = installed().paused("debugging").plan().message();
        String message = installed().paused("debugging").unknown("x").plan().message();
        assertTrue(message.startsWith(known + "; running, ") && message.endsWith(": launch x, pid 7"), message);
    }

    @Test
    void itIsRememberedBeforeItIsStoppedAndNotTakenOver() {
        Learned found = installed().unknown("x").learned();

        assertEquals(ImmutableList.of(), found.change().events());
        Instance noted = Iterables.getOnlyElement(found.change().instances());
        assertEquals("x", noted.launchId());
        assertTrue(noted.isUnknown());
        ObservedInstance seen = Iterables.getOnlyElement(found.situation().instances());
        assertTrue(seen.remembered());
        Learned again = ObservationRecorder.observed(found.situation());
        assertTrue(again.change().isEmpty(), again.change().toString());
    }

    @Test
    void itsEndIsNobodysCrash() {
        Situation found = installed().unknown("x").learned().situation();
        ObservedInstance seen = Iterables.getOnlyElement(found.instances());
        Situation over = found.withSeen(found.seen()
                .withInstances(
                        ImmutableList.of(new ObservedInstance(seen.instance(), true, new Liveness.Ended(KILLED)))));

        Change change = ObservationRecorder.observed(over).change();

        assertEquals(ImmutableList.of("x"), change.ended());
        assertEquals(ImmutableList.of(), change.events());
        assertEquals(null, change.history());
    }

    @Test
    void itsStopIsToldAndCountsForNothing() {
        Situation found = installed().unknown("x").learned().situation();
        WorkloadPlan plan = Planner.plan(found);

        Change change = OutcomeRecorder.stepped(found, plan, plan.next().orElseThrow(), Outcome.done("ended at once"));

        assertEquals(ImmutableList.of("x"), change.ended());
        assertEquals(null, change.history());
        var event = Iterables.getOnlyElement(change.events());
        assertEquals(EventType.DRIFT_DETECTED, event.type());
        assertEquals(
                "stopped an instance that the state does not know: launch x, pid 7; it ended at once", event.message());
    }

    @Test
    void theDependantsOfAWorkloadDoNotTakeItForThat() {
        assertFalse(Iterables.getOnlyElement(
                        installed().unknown("x").learned().situation().instances())
                .instance()
                .isStarted());
    }

    private static Example installed() {
        return plugin().wants("A").provenAsDeclared().installed("A").active("A");
    }
}
