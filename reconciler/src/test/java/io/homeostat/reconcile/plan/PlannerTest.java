package io.homeostat.reconcile.plan;

import static io.homeostat.reconcile.plan.Example.NOW;
import static io.homeostat.reconcile.plan.Example.failed;
import static io.homeostat.reconcile.plan.Example.plugin;
import static io.homeostat.reconcile.plan.Example.process;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.desired.store.Attempts;
import io.homeostat.desired.store.Exit;
import io.homeostat.desired.store.Handle;
import io.homeostat.desired.store.WorkloadHistory;
import io.homeostat.observe.Health;
import io.homeostat.observe.ObservedProcess.Liveness;
import io.homeostat.observe.ObservedProcess.Loss;
import java.time.Duration;
import java.util.List;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

class PlannerTest {
    private static final Exit KILLED = new Exit(137, 9, Exit.Reason.OOM_KILLED, NOW);

    private static final Exit STOPPED = new Exit(null, null, Exit.Reason.STOPPED, NOW);

    private record Row(String situation, String planned, Supplier<Example> example) {}

    private static Row row(String situation, String planned, Supplier<Example> example) {
        return new Row(situation, planned, example);
    }

    @TestFactory
    Stream<DynamicTest> whatIsPlannedFromWhatIsThere() {
        return Stream.of(installing(), upgrading(), repairing(), failing(), removing(), pausing(), stopping())
                .flatMap(List::stream)
                .map(row -> DynamicTest.dynamicTest(
                        row.situation(),
                        () -> assertEquals(row.planned(), row.example().get().planned())));
    }

    private static List<Row> pausing() {
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
                                .proven("A")
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

    private static List<Row> stopping() {
        return List.of(
                row(
                        "what is to be stopped is, and then waits",
                        "stop STOPPED: stop wait",
                        () -> plugin().wants("A")
                                .installed("A")
                                .active("A")
                                .runs("A")
                                .proven("A")
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
                                .proven("A")
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

    private static List<Row> installing() {
        return List.of(
                row(
                        "a plugin that is nowhere is fetched, installed and started",
                        "install NOT_INSTALLED: download unpack activate launch start",
                        () -> plugin().wants("A")),
                row(
                        "a process has no Start",
                        "install NOT_INSTALLED: download unpack activate launch",
                        () -> process().wants("A")),
                row(
                        "an archive in the cache is not fetched again",
                        "install NOT_INSTALLED: unpack activate launch start",
                        () -> plugin().wants("A").cached("A")),
                row(
                        "an installation is not unpacked again",
                        "install NOT_INSTALLED: launch start",
                        () -> plugin().wants("A").installed("A").active("A")),
                row(
                        "a plugin that listens is started",
                        "restart START_NOT_FINISHED: start",
                        () -> plugin().wants("A").installed("A").active("A").listens("A")),
                row(
                        "a plugin that does not listen yet is waited for",
                        "wait START_NOT_FINISHED: wait start",
                        () -> plugin().wants("A")
                                .installed("A")
                                .active("A")
                                .runs("A", Handle.StartState.NOT_SENT, Duration.ofSeconds(2), null)),
                row(
                        "a launch whose process has not reported is waited for",
                        "wait START_NOT_FINISHED: wait",
                        () -> plugin().wants("A").installed("A").active("A").is("A", new Liveness.Pending())),
                row(
                        "what runs, is started, configured and well is left alone",
                        "none AT_DESIRED_STATE",
                        () -> plugin().wants("A").installed("A").active("A").runs("A")),
                row(
                        "a process has to stay alive for a second",
                        "wait START_NOT_FINISHED: wait",
                        () -> process()
                                .wants("A")
                                .installed("A")
                                .active("A")
                                .runs("A", Handle.StartState.NOT_SENT, Duration.ofMillis(300), null)),
                row(
                        "and then counts as started",
                        "none AT_DESIRED_STATE",
                        () -> process()
                                .wants("A")
                                .installed("A")
                                .active("A")
                                .runs("A", Handle.StartState.NOT_SENT, Duration.ofSeconds(1), null)));
    }

    private static List<Row> upgrading() {
        return List.of(
                row(
                        "the old revision runs until the new one is unpacked",
                        "upgrade REVISION_CHANGED: download unpack stop activate launch start collectGarbage",
                        () -> plugin().proven("A")
                                .installed("A")
                                .active("A")
                                .runs("A")
                                .wants("B")),
                row(
                        "a fresh revision is there: swap",
                        "upgrade REVISION_CHANGED: stop activate launch start collectGarbage",
                        () -> plugin().proven("A")
                                .installed("A")
                                .installed("B")
                                .active("A")
                                .runs("A")
                                .wants("B")),
                row(
                        "the old revision died while the new one is not there yet: it is needed once more",
                        "restart PROCESS_MISSING: launch start",
                        () -> plugin().proven("A").installed("A").active("A").wants("B")),
                row(
                        "the old revision crashes for ever: the new one, which may be the remedy, is fetched meanwhile",
                        "upgrade REVISION_CHANGED: download unpack activate launch start collectGarbage",
                        () -> plugin().proven("A")
                                .installed("A")
                                .active("A")
                                .wants("B")
                                .history(h -> h.withRun(h.run().withCrashes(failed(9, NOW))))),
                row(
                        "the old revision is starting: the new one is fetched meanwhile",
                        "upgrade REVISION_CHANGED: download unpack stop activate launch start collectGarbage",
                        () -> plugin().proven("A")
                                .installed("A")
                                .active("A")
                                .runs("A", Handle.StartState.NOT_SENT, Duration.ofSeconds(2), null)
                                .wants("B")),
                row(
                        "the old revision is not well while the new one can't be fetched: it is restarted",
                        "restart UNHEALTHY: stop launch start",
                        () -> unhealthy(2).wants("B").trial(trial -> trial.withInstall(failed(1, NOW)))),
                row(
                        "other arguments need a restart",
                        "restart ARGUMENTS_CHANGED: stop launch start",
                        () -> plugin().proven("A")
                                .installed("A")
                                .active("A")
                                .runs("A")
                                .wants("A", "c", "-v")),
                row(
                        "another config is applied in place",
                        "configure CONFIG_CHANGED: applyConfig",
                        () -> plugin().proven("A")
                                .installed("A")
                                .active("A")
                                .runs("A")
                                .wants("A", "other")),
                row(
                        "unless the plugin takes it only at Start",
                        "restart CONFIG_CHANGED: stop launch start",
                        () -> plugin().proven("A")
                                .installed("A")
                                .active("A")
                                .runs("A")
                                .wants("A", "other")
                                .trial(trial -> trial.withRestartToConfigure(true))),
                row(
                        "a plugin that refused its config is left alone for a while",
                        "wait CONFIGURE_FAILED: wait",
                        () -> plugin().proven("A")
                                .installed("A")
                                .active("A")
                                .runs("A")
                                .wants("A", "other")
                                .trial(trial -> trial.withConfigure(failed(1, NOW)))));
    }

    private static List<Row> repairing() {
        return List.of(
                row(
                        "a process that ended is launched again at once",
                        "restart PROCESS_EXITED: launch start",
                        () -> plugin().wants("A")
                                .proven("A")
                                .installed("A")
                                .active("A")
                                .ended("A", KILLED)),
                row(
                        "a process that left children behind loses them first",
                        "restart PROCESS_EXITED: stop launch start",
                        () -> plugin().wants("A")
                                .proven("A")
                                .installed("A")
                                .active("A")
                                .is("A", new Liveness.Orphaned(KILLED, 2))),
                row(
                        "of two processes the older one goes",
                        "stop PROCESS_SURPLUS: stop",
                        () -> plugin().wants("A")
                                .proven("A")
                                .installed("A")
                                .active("A")
                                .runs("A")
                                .runs("A")),
                row(
                        "a symlink that was moved is put right",
                        "activate LINK_MOVED: activate",
                        () -> plugin().wants("A")
                                .proven("A")
                                .installed("A")
                                .active("X")
                                .runs("A")),
                row(
                        "an installation that is gone is made again",
                        "reinstall INSTALL_MISSING: download unpack activate",
                        () -> plugin().wants("A").proven("A").runs("A")),
                row(
                        "whether Start was heard is not known: another process gets the only one",
                        "restart START_NOT_FINISHED: stop launch start",
                        () -> plugin().wants("A")
                                .installed("A")
                                .active("A")
                                .runs("A", Handle.StartState.SENT, Duration.ofSeconds(1), null)),
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
                        () -> damaged().cached("A").runs("A").history(PlannerTest::repairedJustNow)),
                row(
                        "one that does not run gets whole files without a pause",
                        "reinstall INSTALL_DAMAGED: unpack activate launch start collectGarbage",
                        () -> damaged().cached("A").history(PlannerTest::repairedJustNow)),
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
                        () -> well().lost("A", Loss.LOG).history(PlannerTest::repairedJustNow)),
                row(
                        "a repair of long ago is none of a row",
                        "restart LOG_MISSING: stop launch start",
                        () -> well().lost("A", Loss.LOG)
                                .history(h -> h.withRun(h.run().withRepairs(failed(9, NOW.minusSeconds(600)))))),
                row("one failed health check is looked into", "wait UNHEALTHY: wait", () -> unhealthy(0)),
                row("the third in a row restarts", "restart UNHEALTHY: stop launch start", () -> unhealthy(2)),
                row(
                        "what a superseded revision left is collected",
                        "cleanup SUPERSEDED_REVISION: collectGarbage",
                        () -> plugin().wants("B")
                                .proven("B")
                                .installed("A")
                                .installed("B")
                                .active("B")
                                .runs("B")),
                row(
                        "what an upgrade leaves is kept until the new revision is seen well",
                        "none AT_DESIRED_STATE",
                        () -> plugin().wants("B")
                                .proven("A")
                                .installed("A")
                                .installed("B")
                                .active("B")
                                .runs(
                                        "B",
                                        Handle.StartState.SUCCEEDED,
                                        Duration.ofSeconds(1),
                                        Health.failed(Health.Verdict.UNKNOWN, "could not ask", NOW))),
                row(
                        "who can't look does nothing",
                        "wait CANNOT_OBSERVE: wait",
                        () -> plugin().wants("A").proven("A").blind("permission denied")));
    }

    private static Example damaged() {
        return plugin().wants("A").proven("A").damaged("A").active("A");
    }

    private static WorkloadHistory repairedJustNow(WorkloadHistory history) {
        return history.withRun(history.run().withRepairs(failed(1, NOW)));
    }

    private static Example well() {
        return plugin().wants("A").proven("A").installed("A").active("A");
    }

    private static Example unhealthy(int before) {
        return plugin().wants("A")
                .proven("A")
                .installed("A")
                .active("A")
                .history(h -> {
                    var run = h.run();
                    for (int i = 0; i < before; i++) {
                        run = run.unhealthy(NOW.minusSeconds(15));
                    }
                    return h.withRun(run);
                })
                .runs(
                        "A",
                        Handle.StartState.SUCCEEDED,
                        Duration.ofHours(1),
                        Health.failed(Health.Verdict.UNHEALTHY, "says no", NOW));
    }

    private static List<Row> failing() {
        return List.of(
                row(
                        "a failed download has a pause",
                        "wait INSTALL_FAILED: wait",
                        () -> plugin().wants("A").trial(trial -> trial.withInstall(failed(1, NOW)))),
                row(
                        "which ends",
                        "install NOT_INSTALLED: download unpack activate launch start",
                        () -> plugin().wants("A").trial(trial -> trial.withInstall(failed(1, NOW.minusSeconds(10))))),
                row(
                        "an expired URL waits for a declaration",
                        "wait INSTALL_FAILED: wait",
                        () -> plugin().wants("A")
                                .trial(trial ->
                                        trial.withInstall(new Attempts(1, NOW.minusSeconds(86_400), "403", true)))),
                row(
                        "an upgrade that can't be fetched leaves the old revision running",
                        "wait INSTALL_FAILED: wait",
                        () -> plugin().proven("A")
                                .installed("A")
                                .active("A")
                                .runs("A")
                                .wants("B")
                                .trial(trial -> trial.withInstall(failed(1, NOW)))),
                row(
                        "a plugin that does not listen in time is stopped and launched again",
                        "restart START_FAILED: stop launch start",
                        () -> plugin().wants("A")
                                .installed("A")
                                .active("A")
                                .runs("A", Handle.StartState.NOT_SENT, Duration.ofSeconds(30), null)),
                row(
                        "between two attempts to start is a pause",
                        "wait START_FAILED: wait",
                        () -> plugin().wants("A")
                                .installed("A")
                                .active("A")
                                .trial(trial -> trial.withStart(failed(1, NOW)))),
                row(
                        "an undone upgrade: the last good revision is brought back",
                        "rollback REVISION_FAILED: activate launch start",
                        () -> plugin().proven("A")
                                .installed("A")
                                .installed("B")
                                .active("B")
                                .wants("B")
                                .undone(1, NOW)),
                row(
                        "and held",
                        "wait REVISION_FAILED: wait",
                        () -> plugin().proven("A")
                                .installed("A")
                                .installed("B")
                                .active("A")
                                .runs("A")
                                .wants("B")
                                .undone(1, NOW)),
                row(
                        "until its pause is over",
                        "upgrade REVISION_CHANGED: stop activate launch start collectGarbage",
                        () -> plugin().proven("A")
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
                                .proven("A")
                                .installed("A")
                                .active("A")
                                .history(h -> h.withRun(h.run().withCrashes(failed(9, NOW))))),
                row(
                        "what can't be stopped is left alone for a while",
                        "wait STEP_FAILED: wait",
                        () -> plugin().proven("A")
                                .installed("A")
                                .active("A")
                                .runs("A")
                                .wants("A", "c", "-v")
                                .trial(trial -> trial.withUpkeep(failed(1, NOW)))));
    }

    private static List<Row> removing() {
        return List.of(
                row(
                        "what nobody declares is stopped and removed",
                        "remove NO_LONGER_DECLARED: stop remove",
                        () -> plugin().wasWanted()
                                .proven("A")
                                .installed("A")
                                .active("A")
                                .runs("A")),
                row(
                        "files alone are removed",
                        "remove NO_LONGER_DECLARED: remove",
                        () -> plugin().wasWanted().installed("A")),
                row(
                        "what a lost database has forgotten goes on running",
                        "wait UNCLAIMED: wait",
                        () -> plugin().installed("A").active("A").runs("A")),
                row("nothing is nothing", "none AT_DESIRED_STATE", () -> plugin()));
    }

    @Test
    void theReasonOfARestartIsHowTheProcessEnded() {
        WorkloadPlan plan = plugin().wants("A")
                .proven("A")
                .installed("A")
                .active("A")
                .ended("A", KILLED)
                .plan();

        assertEquals("process exited with status 137, out of memory", plan.message());
        assertTrue(plan.reason().isDrift());
        assertEquals(WorkloadPlan.Bucket.REPAIR, plan.bucket());
    }

    @Test
    void onlyARemovedPluginIsToldToCleanUp() {
        Step.Stop removed = (Step.Stop) plugin().wasWanted()
                .proven("A")
                .installed("A")
                .runs("A")
                .plan()
                .steps()
                .get(0);
        Step.Stop replaced = (Step.Stop) plugin().proven("A")
                .installed("A")
                .installed("B")
                .active("A")
                .runs("A")
                .wants("B")
                .plan()
                .steps()
                .get(0);

        assertTrue(removed.cleanup());
        assertEquals(Step.Stop.Cause.REMOVED, removed.cause());
        assertTrue(!replaced.cleanup());
        assertEquals(Step.Stop.Cause.REPLACED, replaced.cause());
    }

    @Test
    void whoCanNotBeAskedAfterAFailedCheckIsAskedAgainAnIntervalLater() {
        Health unknown = Health.failed(Health.Verdict.UNKNOWN, "too many open files", NOW);
        WorkloadPlan plan = plugin().wants("A")
                .proven("A")
                .installed("A")
                .active("A")
                .history(h -> h.withRun(h.run().unhealthy(NOW.minusSeconds(60))))
                .runs("A", Handle.StartState.SUCCEEDED, Duration.ofHours(1), unknown)
                .plan();

        assertEquals(
                NOW.plusSeconds(10),
                ((Step.Wait) plan.steps().get(0)).until(),
                "a time that is over makes a busy loop");
    }
}
