package io.homeostat.reconcile.plan;

import static io.homeostat.reconcile.plan.Example.NOW;
import static io.homeostat.reconcile.plan.Example.failed;
import static io.homeostat.reconcile.plan.Example.plugin;
import static io.homeostat.reconcile.plan.PlanningRow.row;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.desired.state.history.Attempts.Failures;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.observe.ObservedInstance.Liveness;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** What is planned after something has failed. */
class FailurePlanningTest {
    private static final Exit KILLED = new Exit(137, 9, Exit.Reason.OOM_KILLED, NOW);
    private static final Exit STOPPED = new Exit(null, null, Exit.Reason.STOPPED, NOW);

    @TestFactory
    Stream<DynamicTest> whatFollowsAFailure() {
        return PlanningRow.tests(failing());
    }

    @Test
    void whatCanNotBeFetchedIsSaidToLeaveTheOldOneRunning() {
        Example upgrade = plugin().knownGood("A")
                .installed("A")
                .active("A")
                .runs("A")
                .wants("B")
                .attempts(attempts -> attempts.withInstall(new Failures(1, NOW, "403", true)));

        String message = upgrade.plan().message();
        assertTrue(message.startsWith("could not install B, A runs on: 403; "), message);
        assertTrue(message.endsWith(" plugin/p"), message);
    }

    private static List<PlanningRow> failing() {
        return List.of(
                row(
                        "a failed download has a pause",
                        "wait INSTALL_FAILED: wait",
                        () -> plugin().wants("A").attempts(attempts -> attempts.withInstall(failed(1, NOW)))),
                row(
                        "which ends",
                        "install NOT_INSTALLED: download unpack activate launch start",
                        () -> plugin().wants("A")
                                .attempts(attempts -> attempts.withInstall(failed(1, NOW.minusSeconds(10))))),
                row(
                        "an expired URL waits for a declaration",
                        "wait INSTALL_FAILED: wait",
                        () -> plugin().wants("A")
                                .attempts(attempts ->
                                        attempts.withInstall(new Failures(1, NOW.minusSeconds(86_400), "403", true)))),
                row(
                        "an upgrade that can't be fetched leaves the old revision running",
                        "wait INSTALL_FAILED: wait",
                        () -> plugin().knownGood("A")
                                .installed("A")
                                .active("A")
                                .runs("A")
                                .wants("B")
                                .attempts(attempts -> attempts.withInstall(failed(1, NOW)))),
                row(
                        "a plugin that does not listen in time is stopped and launched again",
                        "restart START_FAILED: stop launch start",
                        () -> plugin().wants("A")
                                .installed("A")
                                .active("A")
                                .runs("A", Phase.CREATED, Duration.ofSeconds(30), null)),
                row(
                        "between two attempts to start is a pause",
                        "wait START_FAILED: wait",
                        () -> plugin().wants("A")
                                .installed("A")
                                .active("A")
                                .attempts(attempts -> attempts.withStart(failed(1, NOW)))),
                row(
                        "an undone upgrade: the last good revision is brought back",
                        "rollback REVISION_FAILED: activate launch start",
                        () -> plugin().knownGood("A")
                                .installed("A")
                                .installed("B")
                                .active("B")
                                .wants("B")
                                .undone(1, NOW)),
                row(
                        "also when the upgrade has not come as far as its symlink",
                        "rollback REVISION_FAILED: launch start",
                        () -> undone().active("A")
                                .history(h -> h.withRun(h.run().withExit(STOPPED)))),
                row(
                        "but what ends by itself afterwards is not undone once more",
                        "restart PROCESS_EXITED: launch start",
                        () -> undone().active("A")
                                .history(h -> h.withRun(h.run().withExit(KILLED)))),
                row(
                        "and held",
                        "wait REVISION_FAILED: wait",
                        () -> plugin().knownGood("A")
                                .installed("A")
                                .installed("B")
                                .active("A")
                                .runs("A")
                                .wants("B")
                                .undone(1, NOW)),
                row(
                        "until its pause is over",
                        "upgrade REVISION_CHANGED: stop activate launch start",
                        () -> plugin().knownGood("A")
                                .installed("A")
                                .installed("B")
                                .active("A")
                                .runs("A")
                                .wants("B")
                                .undone(1, NOW.minus(Duration.ofHours(1)))),
                row(
                        "a crash loop has pauses",
                        "wait CRASH_LOOP: wait",
                        () -> plugin().wants("A")
                                .knownGood("A")
                                .installed("A")
                                .active("A")
                                .history(h -> h.withRun(h.run().withCrashes(failed(9, NOW))))),
                row(
                        "what can't be stopped is left alone for a while",
                        "wait STEP_FAILED: wait",
                        () -> plugin().knownGood("A")
                                .installed("A")
                                .active("A")
                                .runs("A")
                                .wants("A", "c", "-v")
                                .attempts(attempts -> attempts.withUpkeep(failed(1, NOW)))));
    }

    private static Example undone() {
        return plugin().knownGood("A").installed("A").installed("B").wants("B").undone(1, NOW);
    }

    @Test
    void whatHasEndedAndLeftChildrenBehindIsNotSaidToRunOn() {
        Exit exit = new Exit(3, null, Exit.Reason.EXITED, NOW.minusSeconds(30));
        Example upgrade = plugin().knownGood("A")
                .installed("A")
                .active("A")
                .is("A", new Liveness.Orphaned(exit, 1))
                .wants("B")
                .attempts(attempts -> attempts.withInstall(new Failures(1, NOW, "403", true)));

        assertFalse(upgrade.plan().message().contains("runs on"), upgrade.plan()::message);
    }

    @Test
    void reasonsNameLongRevisionsByTheirBeginnings() {
        String old = "a".repeat(100_000);
        Example undone = plugin().knownGood(old)
                .installed(old)
                .wants("b".repeat(100_000))
                .undone(1, NOW);

        String undoing = undone.plan().message();
        assertTrue(undoing.startsWith("revision bb"), undoing);
        assertTrue(undoing.length() < 1_000, () -> undoing.length() + " characters");

        String held = undone.active(old).runs(old).plan().message();
        assertTrue(held.contains(" undone, aa"), held);
        assertTrue(held.length() < 1_000, () -> held.length() + " characters");
    }

    @Test
    void anUpgradeThatIsUndoneNamesTheRevisionThatRunsAfterwards() {
        assertEquals(new WorkloadPlan.Facts("A"), undone().active("B").plan().after());
        assertEquals(
                new WorkloadPlan.Facts("B"),
                plugin().knownGood("A").installed("A").wants("B").plan().after());
    }
}
