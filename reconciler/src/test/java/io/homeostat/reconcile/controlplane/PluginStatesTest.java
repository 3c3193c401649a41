package io.homeostat.reconcile.controlplane;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableListMultimap;
import com.google.common.collect.ImmutableMap;
import io.homeostat.desired.model.Config;
import io.homeostat.desired.model.Lifecycle.Restart.Policy;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.observe.health.Health;
import io.homeostat.observe.health.Health.Verdict;
import io.homeostat.observe.usage.UsageReport;
import io.homeostat.observe.usage.UsageReport.Usage;
import io.homeostat.proto.acp.CurrentPluginStates;
import io.homeostat.proto.acp.CurrentPluginStates.DaemonPluginState;
import io.homeostat.proto.acp.CurrentPluginStates.Metric;
import io.homeostat.proto.acp.CurrentPluginStates.Status;
import io.homeostat.proto.acp.CurrentPluginStates.StatusValue;
import io.homeostat.reconcile.plan.Example;
import io.homeostat.reconcile.plan.Planner;
import io.homeostat.reconcile.record.ObservationRecorder.Learned;
import io.homeostat.reconcile.sim.Wish;
import io.homeostat.reconcile.status.Survey.Finding;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Test;

class PluginStatesTest {
    private static final Instant NOW = Example.NOW;
    private static final WorkloadId P = WorkloadId.plugin("p");

    @Test
    void aPluginThatRunsIsCurrentWithItsOwnAnswerAndTheTimeOfThatAnswer() {
        Instant asked = NOW.minusSeconds(3);
        Health answer = new Health(Verdict.HEALTHY, 7, ImmutableList.of("do not restart me"), "", asked);
        DaemonPluginState state = daemon(Example.plugin()
                .wants("A")
                .installed("A")
                .active("A")
                .knownGood("A")
                .runs("A", Phase.STARTED, Duration.ofHours(1), answer));

        assertEquals("p", state.getName());
        assertEquals("A", state.getCurrentRevisionId());
        assertStatus(StatusValue.RUNNING, 7, List.of("do not restart me"), asked, state.getCurrentPluginStatus());
        assertEquals("", state.getPendingRevisionId());
        assertFalse(state.hasPendingPluginStatus());
        assertEquals(Config.hash(new Config("c", null)), state.getConfigHash());
    }

    @Test
    void whoDoesNotAnswerIsRunningWithAProblem() {
        Health silence = Health.failed(Verdict.HUNG, "no answer within 2s", NOW);
        DaemonPluginState state = daemon(Example.plugin()
                .wants("A")
                .installed("A")
                .active("A")
                .knownGood("A")
                .runs("A", Phase.STARTED, Duration.ofHours(1), silence));

        assertStatus(StatusValue.RUNNING, 1, List.of("no answer within 2s"), NOW, state.getCurrentPluginStatus());
    }

    @Test
    void whatHasCompletedIsToldWithTheTimeOfItsEndAndItsConfiguration() {
        Instant end = NOW.minusSeconds(5);
        DaemonPluginState state = daemon(Example.plugin()
                .wants(Wish.of("A", ImmutableList.of(), "c").restarted(Policy.ON_FAILURE))
                .installed("A")
                .active("A")
                .knownGood("A")
                .ended("A", new Exit(0, null, Exit.Reason.EXITED, end)));

        assertEquals("A", state.getCurrentRevisionId());
        assertStatus(StatusValue.EXECUTION_COMPLETED, 0, List.of(), end, state.getCurrentPluginStatus());
        assertEquals(Config.hash(new Config("c", null)), state.getConfigHash());
    }

    @Test
    void whatIsInstalledForTheFirstTimeIsCurrentAndNothingIsPending() {
        DaemonPluginState state = daemon(Example.plugin().wants("A"));

        assertEquals("A", state.getCurrentRevisionId());
        assertStatus(StatusValue.INSTALLING, 0, List.of(), NOW, state.getCurrentPluginStatus());
        assertFalse(state.hasPendingPluginStatus());
        assertEquals("", state.getConfigHash());
    }

    @Test
    void aFirstInstallationThatFailedIsCurrentWithItsErrorAndItsTime() {
        Instant failed = NOW.minusSeconds(5);
        DaemonPluginState state = daemon(
                Example.plugin().wants("A").attempts(attempts -> attempts.withInstall(Example.failed(2, failed))));

        assertEquals("A", state.getCurrentRevisionId());
        assertStatus(StatusValue.INSTALL_FAILED, 1, List.of("no luck"), failed, state.getCurrentPluginStatus());
        assertFalse(state.hasPendingPluginStatus());
    }

    @Test
    void anUpgradeIsPendingWhileTheOldRevisionRuns() {
        DaemonPluginState state = daemon(
                Example.plugin().wants("B").installed("A").active("A").runs("A").knownGood("A"));

        assertEquals("A", state.getCurrentRevisionId());
        assertEquals(StatusValue.RUNNING, state.getCurrentPluginStatus().getStatus());
        assertEquals("B", state.getPendingRevisionId());
        assertStatus(StatusValue.INSTALLING, 0, List.of(), NOW, state.getPendingPluginStatus());
    }

    @Test
    void anUpgradeThatCanNotBeFetchedIsPendingWithItsErrorAndSaysNothingOfTheOldRevision() {
        Instant failed = NOW.minusSeconds(5);
        DaemonPluginState state = daemon(Example.plugin()
                .wants("B")
                .installed("A")
                .active("A")
                .runs("A")
                .knownGood("A")
                .attempts(attempts -> attempts.withInstall(Example.failed(1, failed))));

        assertStatus(StatusValue.RUNNING, 0, List.of(), NOW, state.getCurrentPluginStatus());
        assertStatus(StatusValue.INSTALL_FAILED, 1, List.of("no luck"), failed, state.getPendingPluginStatus());
    }

    @Test
    void theTroublesOfAnUpgradeAreNotThoseOfTheOldRevisionWhenThatDoesNotRun() {
        Exit exit = new Exit(3, null, Exit.Reason.EXITED, NOW.minusSeconds(9));
        DaemonPluginState state = daemon(Example.plugin()
                .wants("B")
                .installed("A")
                .active("A")
                .knownGood("A")
                .history(history -> history.withRun(history.run().withExit(exit)))
                .attempts(attempts -> attempts.withInstall(Example.failed(1, NOW))));

        assertEquals("A", state.getCurrentRevisionId());
        assertStatus(
                StatusValue.CRASHED,
                1,
                List.of("process " + exit.words()),
                NOW.minusSeconds(9),
                state.getCurrentPluginStatus());
        assertEquals(StatusValue.INSTALL_FAILED, state.getPendingPluginStatus().getStatus());
    }

    @Test
    void anUpgradeThatWasUndoneStaysPendingAsFailedWithItsError() {
        Instant undone = NOW.minusSeconds(60);
        DaemonPluginState state = daemon(Example.plugin()
                .wants("B")
                .installed("A")
                .active("A")
                .runs("A")
                .knownGood("A")
                .undone(1, undone));

        assertEquals("A", state.getCurrentRevisionId());
        assertEquals(StatusValue.RUNNING, state.getCurrentPluginStatus().getStatus());
        assertEquals("B", state.getPendingRevisionId());
        assertStatus(StatusValue.INSTALL_FAILED, 1, List.of("never listens"), undone, state.getPendingPluginStatus());
    }

    @Test
    void aDeclarationOfTheSameRevisionThatWasUndoneIsPendingBesideIt() {
        DaemonPluginState state = daemon(Example.plugin()
                .wants("A", "c", "--wrong")
                .installed("A")
                .active("A")
                .runs("A")
                .knownGood("A")
                .undone(1, NOW));

        assertEquals("A", state.getCurrentRevisionId());
        assertEquals("A", state.getPendingRevisionId());
        assertEquals(StatusValue.INSTALL_FAILED, state.getPendingPluginStatus().getStatus());
    }

    @Test
    void whatIsBeingRemovedIsStoppingWithoutAnythingPending() {
        DaemonPluginState state = daemon(Example.plugin()
                .wasWanted()
                .installed("A")
                .active("A")
                .runs("A")
                .knownGood("A"));

        assertEquals("A", state.getCurrentRevisionId());
        assertEquals(StatusValue.STOPPING, state.getCurrentPluginStatus().getStatus());
        assertFalse(state.hasPendingPluginStatus());
    }

    @Test
    void whatCouldNotBeLookedAtIsOfNoStateAndSaysWhy() {
        DaemonPluginState state = daemon(Example.plugin()
                .wants("A")
                .installed("A")
                .active("A")
                .knownGood("A")
                .blind("no permission"));

        Status status = state.getCurrentPluginStatus();
        assertEquals(StatusValue.STATE_VALUE_UNSPECIFIED, status.getStatus());
        assertTrue(status.getResults(0).contains("no permission"), status.getResults(0));
    }

    @Test
    void processesAreNothingAControlPlaneKnows() {
        assertEquals(
                CurrentPluginStates.getDefaultInstance(),
                PluginStates.of(List.of(finding(Example.process().wants("A"))), UsageReport.EMPTY));
    }

    @Test
    void whatNothingIsLeftOfIsLeftOut() {
        assertEquals(
                CurrentPluginStates.getDefaultInstance(),
                PluginStates.of(List.of(finding(Example.plugin())), UsageReport.EMPTY));
    }

    @Test
    void samplesAreToldInPercentAndKilobytesOldestFirst() {
        UsageReport usage = new UsageReport(
                ImmutableListMultimap.of(
                        P,
                        new Usage(NOW.minusSeconds(20), 12.5, 4096),
                        P,
                        new Usage(NOW.minusSeconds(10), 0.25, 10_241)),
                ImmutableMap.of(P, 2L));
        CurrentPluginStates states =
                PluginStates.of(List.of(finding(Example.plugin().wants("A"))), usage);

        List<Metric> metrics = states.getDaemonPluginStates(0).getCurrentPluginMetricsList();
        assertEquals(
                List.of(
                        Metric.newBuilder()
                                .setTimestamp(Protocol.timestamp(NOW.minusSeconds(20)))
                                .setCpuUsage(12.5f)
                                .setMemoryUsage(4)
                                .build(),
                        Metric.newBuilder()
                                .setTimestamp(Protocol.timestamp(NOW.minusSeconds(10)))
                                .setCpuUsage(0.25f)
                                .setMemoryUsage(10)
                                .build()),
                metrics);
    }

    private static DaemonPluginState daemon(Example example) {
        CurrentPluginStates states = PluginStates.of(List.of(finding(example)), UsageReport.EMPTY);
        assertEquals(0, states.getOneShotPluginStatesCount());
        assertEquals(1, states.getDaemonPluginStatesCount());
        return states.getDaemonPluginStates(0);
    }

    private static Finding finding(Example example) {
        Learned learned = example.learned();
        return new Finding(example.situation().history(), learned.situation(), Planner.plan(learned.situation()));
    }

    private static void assertStatus(StatusValue value, int code, List<String> results, Instant at, Status status) {
        assertEquals(value, status.getStatus());
        assertEquals(code, status.getResponseCode());
        assertEquals(results, status.getResultsList());
        assertEquals(Protocol.timestamp(at), status.getUpdateTime());
    }
}
