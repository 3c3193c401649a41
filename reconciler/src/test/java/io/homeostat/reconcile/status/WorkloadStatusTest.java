package io.homeostat.reconcile.status;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.reconcile.plan.Example;
import io.homeostat.reconcile.plan.Planner;
import io.homeostat.reconcile.record.ObservationRecorder.Learned;
import io.homeostat.reconcile.status.Survey.Finding;
import org.junit.jupiter.api.Test;

class WorkloadStatusTest {
    @Test
    void aProvenRevisionIsCurrentAndNothingIsPending() {
        WorkloadStatus status = status(
                Example.plugin().wants("A").installed("A").active("A").runs("A").knownGood("A"));
        assertEquals("A", status.desiredRevision());
        assertEquals("A", status.currentRevision());
        assertNull(status.pendingRevision());
        assertTrue(status.isWell());
    }

    @Test
    void whatIsKnownIsShownAndNotWhatTheStateDoesNotKnow() {
        WorkloadStatus status = status(Example.plugin()
                .wants("A")
                .installed("A")
                .active("A")
                .runs("A")
                .knownGood("A")
                .unknown("x"));
        assertEquals("A", status.currentRevision());
    }

    @Test
    void anUpgradeIsPendingUntilItIsProven() {
        WorkloadStatus status = status(
                Example.plugin().wants("B").installed("A").active("A").runs("A").knownGood("A"));
        assertEquals("A", status.currentRevision());
        assertEquals("B", status.pendingRevision());
        assertEquals("", status.failure());
        assertFalse(status.isWell());
    }

    @Test
    void anUpgradeThatWasUndoneStaysPendingWithItsError() {
        WorkloadStatus status = status(Example.plugin()
                .wants("B")
                .installed("A")
                .active("A")
                .runs("A")
                .knownGood("A")
                .undone(1, Example.NOW));
        assertEquals("A", status.currentRevision());
        assertEquals("B", status.pendingRevision());
        assertEquals("never listens", status.failure());
        assertEquals(WorkloadState.RUNNING, status.state());
        assertFalse(status.isWell());
    }

    @Test
    void whatDoesNotRunIsCurrentWhereItsSymlinkPoints() {
        WorkloadStatus status =
                status(Example.plugin().wants("A").installed("A").active("A").knownGood("A"));
        assertEquals("A", status.currentRevision());
        assertNull(status.pid());
        assertNull(status.health());
        assertFalse(status.isWell());
    }

    @Test
    void anEndIsShownWithItsCause() {
        assertNull(status(Example.plugin().wants("A")).lastExit());
    }

    private static WorkloadStatus status(Example example) {
        Learned learned = example.learned();
        return WorkloadStatus.of(
                new Finding(example.situation().history(), learned.situation(), Planner.plan(learned.situation())));
    }
}
