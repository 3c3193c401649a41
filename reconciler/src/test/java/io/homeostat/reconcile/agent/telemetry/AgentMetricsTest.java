package io.homeostat.reconcile.agent.telemetry;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.channel.ChannelStatus;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.StoreException;
import io.homeostat.desired.state.StoredSet;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.observe.usage.UsageReport.Usage;
import io.homeostat.reconcile.controlplane.ControlPlane.ControlPlaneStatus;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.record.Outcome;
import io.homeostat.reconcile.sim.Declarations;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

class AgentMetricsTest {
    private static final Instant STARTED = Instant.ofEpochSecond(1_700_000_000);
    private static final Step STEP = new Step.Activate(Passes.WORKLOAD, "d");

    private final Passes passes = new Passes();
    private final AgentMetrics metrics = new AgentMetrics(passes, "1.2.3", STARTED);

    /** The value of the one series that begins so. */
    private double value(String series) {
        return metrics.scrape()
                .lines()
                .filter(line -> line.startsWith(series + " "))
                .mapToDouble(line -> Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1)))
                .findFirst()
                .orElseThrow(() -> new AssertionError(series + " is not in\n" + metrics.scrape()));
    }

    @Test
    void theLagGrowsUntilTheWorkloadHasConvergedAndIsThenRecorded() {
        assertEquals(0, value("homeostat_convergence_lag_seconds"));
        passes.stepped(metrics.passes(), STEP, Reason.LINK_MOVED, Outcome.done(), Duration.ofSeconds(2));
        passes.pass(Duration.ofSeconds(3));
        assertEquals(5, value("homeostat_convergence_lag_seconds"));
        assertEquals(1, value("homeostat_workloads{state=\"progressing\"}"));
        passes.settled(metrics.passes());

        assertEquals(0, value("homeostat_convergence_lag_seconds"));
        assertEquals(1, value("homeostat_workloads{state=\"converged\"}"));
        assertEquals(1, value("homeostat_convergence_duration_seconds_count"));
        assertEquals(5, value("homeostat_convergence_duration_seconds_sum"));
    }

    @Test
    void passesStepsAndFailuresAreCountedByWordsOfOurs() {
        passes.stepped(
                metrics.passes(),
                STEP,
                Reason.LINK_MOVED,
                new Outcome.Failed(FailureCause.of(FailureCause.Kind.INPUT_OUTPUT), "x", false),
                Duration.ofSeconds(2));
        passes.waits(metrics.passes(), Step.Wait.Kind.RETRY, Reason.STEP_FAILED, "later");
        metrics.passes().broken(Passes.WORKLOAD, new IllegalStateException());

        assertEquals(1, value("homeostat_failures_total{reason=\"link_moved\",step=\"activate\"}"));
        assertEquals(1, value("homeostat_steps_total{outcome=\"failed\",step=\"activate\"}"));
        assertEquals(1, value("homeostat_passes_total{result=\"stepped\"}"));
        assertEquals(1, value("homeostat_passes_total{result=\"waiting\"}"));
        assertEquals(1, value("homeostat_passes_total{result=\"broken\"}"));
        assertEquals(1, value("homeostat_workloads{state=\"stuck\"}"));
        assertEquals(2, value("homeostat_pass_duration_seconds_sum"));
        assertEquals(3, value("homeostat_pass_duration_seconds_bucket{le=\"5.0\"}"));
        assertEquals(2, value("homeostat_pass_duration_seconds_bucket{le=\"1.0\"}"));
        assertEquals(2, value("homeostat_pass_triggers_total{trigger=\"exit\"}"));
    }

    @Test
    void aWorkloadThatIsGoneLeavesNoSeriesBehind() {
        Step launch = new Step.Launch(Declarations.workload(Passes.WORKLOAD, "A", ImmutableList.of(), null), "h", "d");
        passes.stepped(metrics.passes(), launch, Reason.PROCESS_EXITED, Outcome.done(), Duration.ofSeconds(1));
        assertEquals(1, value("homeostat_restarts_total{workload=\"plugin/ops-agent\"}"));
        passes.gone(metrics.passes());

        assertFalse(metrics.scrape().contains("ops-agent"), metrics.scrape());
        assertEquals(0, value("homeostat_workloads{state=\"converged\"}"));
    }

    @Test
    void whatWorkloadsUseIsSeenAsLongAsTheyRun() {
        Map<WorkloadId, Usage> latest = new HashMap<>();
        metrics.usage(() -> latest);
        latest.put(Passes.WORKLOAD, new Usage(Instant.EPOCH, 12.5, 4096));
        assertEquals(0.125, value("homeostat_workload_cpu_ratio{workload=\"plugin/ops-agent\"}"));
        assertEquals(4096, value("homeostat_workload_memory_bytes{workload=\"plugin/ops-agent\"}"));

        latest.put(Passes.WORKLOAD, new Usage(Instant.EPOCH, 1, 8192));
        assertEquals(8192, value("homeostat_workload_memory_bytes{workload=\"plugin/ops-agent\"}"));
        latest.clear();
        assertFalse(metrics.scrape().contains("ops-agent"), metrics.scrape());
    }

    @Test
    void whatTheProcessTakesIsSeen() {
        assertTrue(value("process_resident_memory_bytes") > 10_000_000);
        assertTrue(value("process_open_fds") > 3);
        assertTrue(value("process_max_fds") >= value("process_open_fds"));
        assertTrue(value("process_threads") > 1);
        assertTrue(value("homeostat_heap_used_bytes") > 0);
        assertEquals(1.7e9, value("process_start_time_seconds"));
        assertTrue(metrics.scrape().contains("homeostat_build_info{java="), metrics.scrape());
        assertTrue(metrics.scrape().contains("version=\"1.2.3\"} 1"), metrics.scrape());
    }

    @Test
    void theConnectionWithTheControlPlaneIsSeenAndIsZeroWhereThereIsNone() {
        AtomicReference<Optional<ControlPlaneStatus>> status = new AtomicReference<>(Optional.empty());
        metrics.controlPlane(status::get);
        for (String series : ImmutableList.of(
                "connected",
                "unacknowledged",
                "queued_events",
                "dropped_events_total",
                "refused_events_total",
                "withheld_refusals_total")) {
            assertEquals(0, value("homeostat_control_plane_" + series));
        }

        ChannelStatus channel = new ChannelStatus("unix:/run/acs.sock", Instant.EPOCH, null, 2, "");
        status.set(Optional.of(new ControlPlaneStatus(channel, 3, 4, 5, 6)));
        assertEquals(1, value("homeostat_control_plane_connected"));
        assertEquals(2, value("homeostat_control_plane_unacknowledged"));
        assertEquals(3, value("homeostat_control_plane_queued_events"));
        assertEquals(4, value("homeostat_control_plane_dropped_events_total"));
        assertEquals(5, value("homeostat_control_plane_refused_events_total"));
        assertEquals(6, value("homeostat_control_plane_withheld_refusals_total"));
    }

    @Test
    void whatIsCountedGoesOnAfterACollectionOfGarbage() {
        ChannelStatus channel = new ChannelStatus("unix:/run/acs.sock", Instant.EPOCH, null, 2, "");
        metrics.controlPlane(() -> Optional.of(new ControlPlaneStatus(channel, 3, 4, 5, 6)));
        WeakReference<Object> collected = new WeakReference<>(new Object());
        AtomicReference<byte[]> garbage = new AtomicReference<>();
        await().atMost(Duration.ofMinutes(1)).pollInterval(Duration.ofMillis(1)).until(() -> {
            // The JVM of the tests ignores requests to collect.
            garbage.set(new byte[8 << 20]);
            return collected.get() == null;
        });

        assertEquals(4, value("homeostat_control_plane_dropped_events_total"));
    }

    @Test
    void whatOthersSupplyIsAskedAtEachScrape() {
        metrics.queueDepth(() -> 3);
        metrics.sourceProblems("files", () -> 2);
        LoopWatch watch = new LoopWatch(passes);
        metrics.watch(watch);

        assertEquals(3, value("homeostat_queue_depth"));
        assertEquals(2, value("homeostat_source_problems{source=\"files\"}"));
        assertEquals(1, value("homeostat_healthy"));
        passes.pass(Duration.ofMinutes(1));
        assertEquals(0, value("homeostat_healthy"));
    }

    @Test
    void howOldASetIsCountsFromTheLastAnswerOfItsSource() {
        AtomicReference<ImmutableList<StoredSet.Standing>> sets = new AtomicReference<>(ImmutableList.of(
                answeredAt(STARTED.plusSeconds(10)),
                new StoredSet.Standing(SourceName.GIT, "file:///r", Optional.empty(), Optional.empty())));
        metrics.sets(sets::get, () -> STARTED.plusSeconds(100));

        assertEquals(42, value("homeostat_set_sequence{source=\"etcd\"}"));
        assertEquals(90, value("homeostat_set_age_seconds{source=\"etcd\"}"));
        assertEquals(100, value("homeostat_set_age_seconds{source=\"git\"}"), "since the agent began");
        assertFalse(metrics.scrape().contains("homeostat_set_sequence{source=\"git\"}"), metrics.scrape());

        sets.set(ImmutableList.of());
        assertFalse(metrics.scrape().contains("homeostat_set_age_seconds{"), metrics.scrape());
    }

    @Test
    void aStateThatCannotBeReadTakesNoOtherMetricAway() {
        metrics.sets(
                () -> {
                    throw new StoreException("cannot read it");
                },
                () -> STARTED);

        assertTrue(metrics.scrape().contains("homeostat_build_info"), metrics.scrape());
    }

    static StoredSet.Standing answeredAt(Instant time) {
        StoredSet set = new StoredSet(SourceName.ETCD, "etcd:/h/set", "12", 42, Optional.empty(), "d", time);
        return new StoredSet.Standing(SourceName.ETCD, "etcd:/h/set", Optional.of(set), Optional.of(time));
    }
}
