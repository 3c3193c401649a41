package io.homeostat.reconcile.plan;

import static io.homeostat.reconcile.plan.Example.NOW;
import static io.homeostat.reconcile.plan.Example.failed;
import static io.homeostat.reconcile.plan.Example.plugin;
import static io.homeostat.reconcile.plan.Example.process;
import static io.homeostat.reconcile.plan.PlanningRow.row;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.Lifecycle.Execution;
import io.homeostat.desired.model.Lifecycle.Limits;
import io.homeostat.desired.model.schema.Size;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.desired.state.history.Attempts.Failures;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.desired.state.history.WorkloadHistory.Decision;
import io.homeostat.desired.state.history.WorkloadHistory.FailedRevision;
import io.homeostat.observe.ObservedInstance.Liveness;
import io.homeostat.observe.ObservedInstance.Loss;
import io.homeostat.observe.health.Health;
import io.homeostat.reconcile.sim.Declarations;
import io.homeostat.reconcile.sim.Wish;
import io.homeostat.reconcile.sim.Wish.Order;
import io.homeostat.reconcile.sim.Wish.Probing;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** What is planned when the machine has moved. */
class RepairPlanningTest {
    private static final Exit KILLED = new Exit(137, 9, Exit.Reason.OOM_KILLED, NOW);
    private static final Exit STOPPED = new Exit(null, null, Exit.Reason.STOPPED, NOW);

    @TestFactory
    Stream<DynamicTest> whatIsRepaired() {
        return PlanningRow.tests(repairing());
    }

    @Test
    void whatHasHappenedAndWhatIsDeclaredOtherwiseAreBothSaid() {
        Exit killed = new Exit(null, 9, Exit.Reason.SIGNALED, NOW);
        String end = "process " + killed.words();

        assertReasons(
                "arguments changed; " + end,
                List.of(Reason.ARGUMENTS_CHANGED, Reason.PROCESS_EXITED),
                good().wants("A", "c", "-v").ended("A", killed));
        assertReasons(
                end + "; then revision changed",
                List.of(Reason.PROCESS_EXITED, Reason.REVISION_CHANGED),
                good().wants("B").cached("B").ended("A", killed));
        assertReasons(
                end + " and left 1 of its children behind; revision changed",
                List.of(Reason.PROCESS_EXITED, Reason.REVISION_CHANGED),
                good().wants("B").installed("B").is("A", new Liveness.Orphaned(killed, 1)));
        assertReasons(
                "arguments changed; its symlink does not point to the running revision",
                List.of(Reason.ARGUMENTS_CHANGED, Reason.LINK_MOVED),
                good().wants("A", "c", "-v").active("X").runs("A"));
        assertReasons(
                "arguments changed; its log was deleted, what it writes is lost",
                List.of(Reason.ARGUMENTS_CHANGED, Reason.LOG_MISSING),
                good().wants("A", "c", "-v").lost("A", Loss.LOG));
        assertReasonsAndPart(
                "memory 64Mi instead of unlimited",
                List.of(Reason.ARGUMENTS_CHANGED, Reason.LIMITS_DRIFTED),
                good().wants("A", "c", "-v").runs("A").limited(new Limits(new Size(64 << 20), null, false)));
        assertReasons(
                end + " and left 1 of its children behind; its installation is damaged: bin/run is odd",
                List.of(Reason.PROCESS_EXITED, Reason.INSTALL_DAMAGED),
                process()
                        .wants("A")
                        .knownGood("A")
                        .damaged("A")
                        .cached("A")
                        .active("A")
                        .is("A", new Liveness.Orphaned(killed, 1)));
    }

    @Test
    void aCrashIsNotBlamedOnWhatIsChangedInPlace() {
        Exit killed = new Exit(null, 9, Exit.Reason.SIGNALED, NOW);
        assertReasons(
                "process " + killed.words() + "; limits changed",
                List.of(Reason.PROCESS_EXITED, Reason.LIMITS_CHANGED),
                good().wants("A", new Limits(new Size(1 << 30), null, false)).ended("A", killed));
    }

    @Test
    void limitsThatSomebodyHasChangedHaveDriftedWhateverElseIsDeclaredOtherwise() {
        Wish givesUp = new Wish(
                "A", "A", ImmutableList.of(), "c", 3, Probing.NONE, Limits.NONE, Declarations.DAEMON, Order.NONE);
        assertReasonsAndPart(
                "memory 64Mi instead of unlimited",
                List.of(Reason.LIMITS_DRIFTED),
                good().wants(givesUp).runs("A").limited(new Limits(new Size(64 << 20), null, false)));
    }

    @Test
    void whatWasStoppedBecauseItWasIllIsStartedForThatWhenItsFailuresAreForgiven() {
        assertReasons(
                "it was stopped: not ready within 2s",
                List.of(Reason.UNHEALTHY),
                good().wants("A")
                        .history(h -> h.withRun(h.run()
                                .withExit(new Exit(null, null, Exit.Reason.STOPPED, NOW.plusSeconds(1)))
                                .withCrashes(new Failures(1, NOW.plusSeconds(1), "not ready within 2s", false))))
                        .history(WorkloadHistory::retriedNow));
    }

    @Test
    void whatIsDeadAfterAFailureIsStartedForThatThoughItIsChangedInPlace() {
        Exit stopped = new Exit(null, null, Exit.Reason.STOPPED, NOW.plusSeconds(1));
        UnaryOperator<WorkloadHistory> ill = h -> h.withRun(h.run()
                .withExit(stopped)
                .withCrashes(new Failures(1, NOW.plusSeconds(1), "not ready within 2s", false)));

        assertReasonsAndPart(
                "not ready within 2s; limits changed",
                List.of(Reason.UNHEALTHY, Reason.LIMITS_CHANGED),
                good().wants("A", new Limits(new Size(1 << 30), null, false)).history(ill));
        assertReasonsAndPart(
                "arguments changed; ",
                List.of(Reason.ARGUMENTS_CHANGED, Reason.UNHEALTHY),
                good().wants("A", "c", "-v").history(ill));
    }

    @Test
    void whatSomebodyHasStoppedIsNotBlamedOnACrashBeforeThat() {
        assertReasons(
                "it was stopped, and is to run",
                List.of(Reason.START_NOT_FINISHED),
                good().wants("A")
                        .history(h -> h.withRun(h.run()
                                .withExit(new Exit(null, null, Exit.Reason.STOPPED, NOW.plusSeconds(1)))
                                .withCrashes(new Failures(1, NOW, "it was killed", false)))));
    }

    @Test
    void whatIsIllSaysWhatFollowsIfItStaysSo() {
        assertEquals(
                "says no (1 of 3 failed checks); it is restarted if 2 more fail",
                unhealthy(0).plan().message());
        assertMessage("says no \\(2 of 3 .* 1 more .*", unhealthy(1));
        assertEquals("says no (3 of 3 failed checks)", unhealthy(2).plan().message());
    }

    @Test
    void whatHangsSaysSoToo() {
        Health hung = Health.failed(Health.Verdict.HUNG, "no answer", NOW);
        WorkloadPlan plan =
                well().runs("A", Phase.STARTED, Duration.ofHours(1), hung).plan();

        assertEquals(Reason.HUNG, plan.reason());
        assertTrue(plan.message().startsWith("no answer (1 of 3 "), plan.message());
    }

    @Test
    void whatIsIllAndHasMovedSaysBoth() {
        WorkloadPlan plan =
                unhealthy(0, plugin().wants("A").knownGood("A").installed("A")).plan();

        assertTrue(plan.message().contains("; says no (1 of 3 "), plan.message());
        assertEquals(List.of(Reason.LINK_MOVED, Reason.UNHEALTHY), plan.reasons());
    }

    @Test
    void whatIsIllAndHasFailedAsOftenAsItMayIsNotSaidToBeRestarted() {
        Wish givesUp = new Wish(
                "A", "A", ImmutableList.of(), "c", 3, Probing.NONE, Limits.NONE, Declarations.DAEMON, Order.NONE);
        Example last = plugin().wants(givesUp)
                .knownGood(givesUp)
                .installed("A")
                .active("A")
                .history(h -> h.withRun(h.run().withCrashes(failed(3, NOW.minusSeconds(1_000)))));

        WorkloadPlan plan = unhealthy(0, last).plan();

        assertEquals("says no (1 of 3 failed checks); it is stopped and given up if 2 more fail", plan.message());
        assertEquals(
                List.of("wait", "stop"), plan.steps().stream().map(Step::word).toList());
    }

    @Test
    void aRevisionThatWasNeverWellAndHasNoStartLeftIsUndone() {
        assertMessage("says no \\(1 of 3 .* restarted if 2 .*", unhealthy(0, upgraded()));
        assertEquals(
                "says no (1 of 3 failed checks); its declaration is undone if 2 more fail",
                unhealthy(0, upgraded().attempts(attempts -> attempts.withStart(failed(2, NOW))))
                        .plan()
                        .message());
    }

    private static Example upgraded() {
        return plugin().wants("A").knownGood("B").installed("A").installed("B").active("A");
    }

    private static Example good() {
        return process().knownGood("A").installed("A").active("A");
    }

    private static void assertReasons(String message, List<Reason> reasons, Example example) {
        WorkloadPlan plan = example.plan();
        assertEquals(message, plan.message());
        assertEquals(reasons, plan.reasons());
    }

    private static void assertReasonsAndPart(String part, List<Reason> reasons, Example example) {
        WorkloadPlan plan = example.plan();
        assertEquals(reasons, plan.reasons());
        assertTrue(plan.message().contains(part), plan.message());
    }

    private static void assertMessage(String pattern, Example example) {
        String message = example.plan().message();
        assertTrue(message.matches(pattern), message);
    }

    private static List<PlanningRow> repairing() {
        return List.of(
                row(
                        "a process that ended is launched again at once",
                        "restart PROCESS_EXITED: launch start",
                        () -> plugin().wants("A")
                                .knownGood("A")
                                .installed("A")
                                .active("A")
                                .ended("A", KILLED)),
                row(
                        "a process that left children behind loses them first",
                        "restart PROCESS_EXITED: stop launch start",
                        () -> plugin().wants("A")
                                .knownGood("A")
                                .installed("A")
                                .active("A")
                                .is("A", new Liveness.Orphaned(KILLED, 2))),
                row(
                        "of two processes the older one goes",
                        "stop PROCESS_SURPLUS: stop",
                        () -> plugin().wants("A")
                                .knownGood("A")
                                .installed("A")
                                .active("A")
                                .runs("A")
                                .runs("A")),
                row(
                        "a symlink that was moved is put right",
                        "activate LINK_MOVED: activate",
                        () -> plugin().wants("A")
                                .knownGood("A")
                                .installed("A")
                                .active("X")
                                .runs("A")),
                row(
                        "what is put right in place goes before the change",
                        "activate LINK_MOVED: activate download unpack stop activate launch start",
                        () -> plugin().wants("B")
                                .knownGood("A")
                                .installed("A")
                                .active("X")
                                .runs("A")),
                row(
                        "an installation that is gone is made again",
                        "reinstall INSTALL_MISSING: download unpack activate",
                        () -> plugin().wants("A").knownGood("A").runs("A")),
                row(
                        "whether Start was heard is not known: another process gets the only one",
                        "restart START_NOT_FINISHED: stop launch start",
                        () -> plugin().wants("A")
                                .installed("A")
                                .active("A")
                                .runs("A", Phase.START_SENT, Duration.ofSeconds(1), null)),
                row(
                        "a damaged installation is unpacked anew beside it while its process runs, then swapped",
                        "reinstall INSTALL_DAMAGED: unpack stop activate launch start collectGarbage",
                        () -> damaged().cached("A").runs("A")),
                row(
                        "fetched first when the archive is not there any more",
                        "reinstall INSTALL_DAMAGED: download unpack stop activate launch start collectGarbage",
                        () -> damaged().runs("A")),
                row(
                        "a process that runs from a damaged installation is replaced once a whole one is there",
                        "reinstall INSTALL_DAMAGED: stop activate launch start collectGarbage",
                        () -> damaged().installedBeside("A").runs("A")),
                row(
                        "what was stopped to get whole files is launched from those",
                        "reinstall INSTALL_DAMAGED: activate launch start collectGarbage",
                        () -> damaged()
                                .installedBeside("A")
                                .history(h -> h.withRun(h.run().withExit(STOPPED)))),
                row(
                        "nothing is launched from a damaged installation",
                        "reinstall INSTALL_DAMAGED: unpack activate launch start collectGarbage",
                        () -> damaged().cached("A").ended("A", KILLED)),
                row(
                        "not for the first time either",
                        "reinstall INSTALL_DAMAGED: unpack activate launch start collectGarbage",
                        () -> plugin().wants("A").damaged("A").cached("A").active("A")),
                row(
                        "files that the workload changes itself are not put back for ever",
                        "wait INSTALL_DAMAGED: wait",
                        () -> damaged().cached("A").runs("A").history(RepairPlanningTest::repairedJustNow)),
                row(
                        "one that has run since its files were put back gets whole ones without a pause",
                        "reinstall INSTALL_DAMAGED: unpack activate launch start collectGarbage",
                        () -> damaged()
                                .cached("A")
                                .history(h -> repairedJustNow(h.withRun(h.run().withExit(KILLED))))),
                row(
                        "files that are damaged again before anything has run are not put back in a loop",
                        "wait INSTALL_DAMAGED: wait",
                        () -> damaged().cached("A").history(RepairPlanningTest::repairedJustNow)),
                row(
                        "nor before the first launch",
                        "wait INSTALL_DAMAGED: wait",
                        () -> plugin().wants("A")
                                .damaged("A")
                                .cached("A")
                                .history(RepairPlanningTest::repairedJustNow)),
                row(
                        "what the repair before has left goes before the next one",
                        "reinstall INSTALL_DAMAGED: collectGarbage unpack activate launch start",
                        () -> plugin().wants("A")
                                .damaged("A")
                                .cached("A")
                                .history(h -> h.withRun(h.run().withRepairs(failed(1, NOW.minusSeconds(10)))))),
                row(
                        "a damaged last good revision does not keep its successor waiting",
                        "upgrade REVISION_CHANGED: download unpack stop activate launch start collectGarbage",
                        () -> damaged().runs("A").wants("B")),
                row(
                        "a socket that is gone comes back only with another process, without waiting for health checks",
                        "restart SOCKET_MISSING: stop launch start",
                        () -> well().lost("A", Loss.SOCKET)),
                row(
                        "a log that is gone comes back only with another process",
                        "restart LOG_MISSING: stop launch start",
                        () -> well().lost("A", Loss.LOG)),
                row(
                        "a workload that deletes its own log is not restarted for ever",
                        "wait LOG_MISSING: wait",
                        () -> well().lost("A", Loss.LOG).history(RepairPlanningTest::repairedJustNow)),
                row(
                        "a repair of long ago is none of a row",
                        "restart LOG_MISSING: stop launch start",
                        () -> well().lost("A", Loss.LOG)
                                .history(h -> h.withRun(h.run().withRepairs(failed(9, NOW.minusSeconds(600)))))),
                row(
                        "one that is to be replaced for its health anyway, and was launched since the last repair, gets whole files",
                        "reinstall INSTALL_DAMAGED: unpack stop activate launch start collectGarbage",
                        () -> unhealthy(
                                2,
                                damaged()
                                        .cached("A")
                                        .history(
                                                h -> h.withRun(h.run().withRepairs(failed(1, NOW.minusSeconds(60))))))),
                row(
                        "but not in a loop",
                        "wait INSTALL_DAMAGED: wait",
                        () -> unhealthy(2, damaged().cached("A").history(RepairPlanningTest::repairedJustNow))),
                row(
                        "a repair just before does not hold up another revision",
                        "upgrade REVISION_CHANGED: download unpack stop activate launch start",
                        () -> well().runs("A").wants("B").history(RepairPlanningTest::repairedJustNow)),
                row(
                        "what ended by itself says so, although its files are damaged as well",
                        "restart PROCESS_EXITED: activate launch start collectGarbage",
                        () -> damaged()
                                .installedBeside("A")
                                .history(h -> h.withRun(h.run().withExit(KILLED)))),
                row(
                        "what was stopped to be started again is",
                        "restart START_NOT_FINISHED: launch start",
                        () -> well().history(h -> endedSinceItIsEnabled(h, STOPPED))),
                row(
                        "and so is what was stopped because it took too long",
                        "restart START_NOT_FINISHED: launch start",
                        () -> well().history(h ->
                                endedSinceItIsEnabled(h, new Exit(null, null, Exit.Reason.TIMED_OUT, NOW)))),
                row(
                        "one failed health check is looked into, and what follows if it stays so is foretold",
                        "wait UNHEALTHY: wait stop launch start",
                        () -> unhealthy(0)),
                row(
                        "the old revision is not well while the new one can't be fetched: it is restarted",
                        "restart UNHEALTHY: stop launch start",
                        () -> unhealthy(2).wants("B").attempts(attempts -> attempts.withInstall(failed(1, NOW)))),
                row(
                        "so is what is rolled back while the former revision can't be fetched",
                        "restart UNHEALTHY: stop launch start",
                        () -> unhealthy(
                                2,
                                plugin().wants("A")
                                        .knownGood("A")
                                        .history(h -> h.withFailed(FailedRevision.byRequest(
                                                h.attempts().hash(), "A", NOW, "rolled back", h.lastKnownGood())))
                                        .succeeded("B")
                                        .installed("A")
                                        .active("A")
                                        .attempts(attempts -> attempts.withRestore(failed(1, NOW))))),
                row(
                        "what stands in already goes on while another one in its place can't be fetched",
                        "restart PROCESS_EXITED: launch start",
                        () -> plugin().wants("B")
                                .knownGood("A")
                                .history(h -> h.withFailed(FailedRevision.byRequest(
                                                h.attempts().hash(), "A", NOW, "rolled back", h.lastKnownGood()))
                                        .withRun(h.run().withExit(KILLED)))
                                .succeeded("C")
                                .installed("A")
                                .installed("B")
                                .active("A")
                                .attempts(attempts -> attempts.withRestore(failed(1, NOW)))),
                row(
                        "and takes the place of what is declared and does not start",
                        "rollback ROLLED_BACK: stop activate launch start",
                        () -> plugin().wants("B")
                                .knownGood("A")
                                .history(h -> h.withFailed(FailedRevision.byRequest(
                                        h.attempts().hash(), "B", NOW, "rolled back", h.lastKnownGood())))
                                .succeeded("C")
                                .installed("A")
                                .installed("B")
                                .active("B")
                                .runs(
                                        "B",
                                        Phase.START_SENT,
                                        Duration.ofHours(1),
                                        Health.failed(Health.Verdict.UNKNOWN, "no", NOW))
                                .attempts(attempts -> attempts.withRestore(failed(1, NOW)))),
                row(
                        "and is backed off from when it crashes again and again",
                        "wait INSTALL_FAILED: wait",
                        () -> plugin().wants("B")
                                .knownGood("A")
                                .history(h -> h.withFailed(FailedRevision.byRequest(
                                                h.attempts().hash(), "A", NOW, "rolled back", h.lastKnownGood()))
                                        .withRun(h.run().withExit(KILLED).withCrashes(failed(9, NOW))))
                                .succeeded("C")
                                .installed("A")
                                .installed("B")
                                .active("A")
                                .attempts(attempts -> attempts.withRestore(failed(1, NOW)))),
                row("the third in a row restarts", "restart UNHEALTHY: stop launch start", () -> unhealthy(2)),
                row(
                        "the good revision before stays installed",
                        "none AT_DESIRED_STATE",
                        () -> succeeded().installed("B").installed("C")),
                row(
                        "those before it do not",
                        "cleanup SUPERSEDED_REVISION: collectGarbage",
                        () -> succeeded().installed("A").installed("B").installed("C")),
                row(
                        "what somebody has rolled back is undone at once and stays so",
                        "rollback ROLLED_BACK: stop activate launch start",
                        () -> rolledBack().active("B").runs("B")),
                row(
                        "what crashes in its place is restarted",
                        "restart PROCESS_EXITED: launch start",
                        () -> rolledBack()
                                .active("A")
                                .history(h -> h.withFailed(Objects.requireNonNull(h.failed())
                                                .launched())
                                        .withRun(h.run().withExit(KILLED)))),
                row(
                        "for ever",
                        "wait ROLLED_BACK: wait",
                        () -> rolledBack().active("A").runs("A")),
                row(
                        "what a superseded revision left is collected",
                        "cleanup SUPERSEDED_REVISION: collectGarbage",
                        () -> plugin().wants("B")
                                .knownGood("B")
                                .installed("A")
                                .installed("B")
                                .active("B")
                                .runs("B")),
                row(
                        "what an upgrade leaves is kept until the new revision is seen well",
                        "none AT_DESIRED_STATE",
                        () -> plugin().wants("B")
                                .knownGood("A")
                                .installed("A")
                                .installed("B")
                                .active("B")
                                .runs(
                                        "B",
                                        Phase.STARTED,
                                        Duration.ofSeconds(1),
                                        Health.failed(Health.Verdict.UNKNOWN, "could not ask", NOW))),
                row(
                        "who can't look does nothing",
                        "wait CANNOT_OBSERVE: wait",
                        () -> plugin().wants("A").knownGood("A").blind("permission denied")));
    }

    private static Example damaged() {
        return plugin().wants("A").knownGood("A").damaged("A").active("A");
    }

    private static WorkloadHistory repairedJustNow(WorkloadHistory history) {
        return history.withRun(history.run().withRepairs(failed(1, NOW)));
    }

    private static WorkloadHistory endedSinceItIsEnabled(WorkloadHistory history, Exit exit) {
        Decision enabled = new Decision(Execution.State.ENABLED, "", NOW.minusSeconds(1));
        return history.withDecision(enabled).withRun(history.run().withExit(exit));
    }

    private static Example well() {
        return plugin().wants("A").knownGood("A").installed("A").active("A");
    }

    /** Runs C, which came after B and A. */
    private static Example succeeded() {
        return plugin().wants("C")
                .knownGood("A")
                .succeeded("B")
                .succeeded("C")
                .active("C")
                .runs("C");
    }

    private static Example rolledBack() {
        return plugin().wants("B")
                .knownGood("B")
                .history(history -> history.withFailed(FailedRevision.byRequest(
                        history.attempts().hash(),
                        "B",
                        NOW.minusSeconds(1_000_000),
                        "rolled back",
                        history.lastKnownGood())))
                .succeeded("A")
                .installed("A")
                .installed("B");
    }

    private static Example unhealthy(int before) {
        return unhealthy(before, well());
    }

    /** It runs, and a check fails after as many others. */
    private static Example unhealthy(int before, Example example) {
        return example.history(h -> {
                    var run = h.run();
                    for (int i = 0; i < before; i++) {
                        run = run.unhealthy(NOW.minusSeconds(15));
                    }
                    return h.withRun(run);
                })
                .runs("A", Phase.STARTED, Duration.ofHours(1), Health.failed(Health.Verdict.UNHEALTHY, "says no", NOW));
    }

    @Test
    void theReasonOfARestartIsHowTheProcessEnded() {
        WorkloadPlan plan = plugin().wants("A")
                .knownGood("A")
                .installed("A")
                .active("A")
                .ended("A", KILLED)
                .plan();

        assertEquals("process " + KILLED.words(), plan.message());
        assertTrue(plan.reason().isDrift());
        assertEquals(WorkloadPlan.Bucket.REPAIR, plan.bucket());
    }

    @Test
    void whoCanNotBeAskedAfterAFailedCheckIsAskedAgainAnIntervalLater() {
        Health unknown = Health.failed(Health.Verdict.UNKNOWN, "no descriptor", NOW);
        WorkloadPlan plan = plugin().wants("A")
                .knownGood("A")
                .installed("A")
                .active("A")
                .history(h -> h.withRun(h.run().unhealthy(NOW.minusSeconds(60))))
                .runs("A", Phase.STARTED, Duration.ofHours(1), unknown)
                .plan();

        assertEquals(
                NOW.plusSeconds(10),
                ((Step.Wait) plan.steps().get(0)).until(),
                "a time that is over makes a busy loop");
    }
}
