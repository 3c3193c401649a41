package io.homeostat.desired.state.sqlite;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.model.Config;
import io.homeostat.desired.model.EnvValue;
import io.homeostat.desired.model.Lifecycle;
import io.homeostat.desired.model.Lifecycle.Execution;
import io.homeostat.desired.model.Lifecycle.HealthCheck;
import io.homeostat.desired.model.Lifecycle.Limits;
import io.homeostat.desired.model.Lifecycle.Metrics;
import io.homeostat.desired.model.Lifecycle.Restart;
import io.homeostat.desired.model.Lifecycle.Start;
import io.homeostat.desired.model.Lifecycle.Stop;
import io.homeostat.desired.model.PluginSpec;
import io.homeostat.desired.model.ProcessSettings;
import io.homeostat.desired.model.Program;
import io.homeostat.desired.model.Source;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Event;
import io.homeostat.desired.state.EventType;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.StateStore.Change;
import io.homeostat.desired.state.StateStore.ToApply;
import io.homeostat.desired.state.history.Attempts;
import io.homeostat.desired.state.history.Attempts.Failures;
import io.homeostat.desired.state.history.Attempts.ReloadFailures;
import io.homeostat.desired.state.history.Attempts.Reported;
import io.homeostat.desired.state.history.Attempts.Reported.ReportedFailure;
import io.homeostat.desired.state.history.Condition;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.desired.state.history.OneShotRun;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.desired.state.history.RunRecord;
import io.homeostat.desired.state.history.RunRecord.CalendarSince;
import io.homeostat.desired.state.history.RunRecord.Completed;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.desired.state.history.WorkloadHistory.Apply;
import io.homeostat.desired.state.history.WorkloadHistory.Asked;
import io.homeostat.desired.state.history.WorkloadHistory.Decision;
import io.homeostat.desired.state.history.WorkloadHistory.FailedRevision;
import io.homeostat.desired.state.history.WorkloadHistory.LastKnownGood;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.Objects;
import java.util.stream.Stream;

/** What the tests of the store put into it. */
public final class Samples {
    public static final Instant NOON = Instant.parse("2026-11-20T12:00:00.123456789Z");
    private static final Exit OUT_OF_MEMORY = new Exit(137, 9, Exit.Reason.OOM_KILLED, NOON);
    private static final ReportedFailure DOWNLOAD_REFUSED = new ReportedFailure(
            EventType.PLUGIN_INSTALL_FAILED, "B2", new FailureCause(FailureCause.Kind.HTTP_STATUS, 403));
    public static final Clock CLOCK = Clock.fixed(NOON, ZoneOffset.UTC);
    static final WorkloadId AGENT = WorkloadId.plugin("ops-agent");

    private Samples() {}

    public static Layout layout(Path directory) {
        return new Layout(directory.resolve("state"), directory.resolve("run"), "1");
    }

    public static Workload plugin(String name, String revision) {
        Program program = new Program(
                revision,
                new Source("https://example.org/" + name + ".tar.gz?secret=1", null, Duration.ofSeconds(60), 3),
                "bin/" + name,
                ImmutableList.of("--verbose"),
                ImmutableSortedMap.of("FOO", new EnvValue.Text("bar")),
                null,
                null,
                ProcessSettings.NONE,
                null,
                Program.Install.DYNAMIC);
        Lifecycle lifecycle = new Lifecycle(
                Limits.NONE,
                new Start(Duration.ofSeconds(30), 3, 2),
                new Stop(Duration.ofSeconds(30)),
                new HealthCheck(Duration.ofSeconds(10), Duration.ofSeconds(2), 3),
                new Restart(Duration.ZERO, Duration.ofMinutes(5), Duration.ofMinutes(10), 0),
                new Metrics(Duration.ofSeconds(10), 60),
                new Execution(
                        Execution.Type.DAEMON,
                        false,
                        Execution.State.ENABLED,
                        Execution.State.ENABLED,
                        Execution.Match.ALL,
                        ImmutableList.of(),
                        null,
                        null),
                ImmutableList.of(),
                null,
                null,
                null);
        return new Workload(
                WorkloadId.plugin(name),
                ImmutableSortedMap.of("team", "sre"),
                new PluginSpec(program, lifecycle, new Config("password=hunter2", null)));
    }

    public static ImmutableSet<WorkloadId> apply(
            StateStore store, String origin, boolean prune, Workload... workloads) {
        ImmutableList<ToApply> documents = Stream.of(workloads)
                .map(workload -> new ToApply(workload, origin))
                .collect(ImmutableList.toImmutableList());
        return store.apply(documents, ImmutableSet.of(origin), prune);
    }

    private static OneShotRun failedRun() {
        return OneShotRun.begun("w0", "launch", "boot", "instance", NOON).failed(NOON, OUT_OF_MEMORY, "no memory");
    }

    /** As a version wrote it that kept no former revisions. */
    static WorkloadHistory withoutFormer(WorkloadHistory history) {
        FailedRevision failed = Objects.requireNonNull(history.failed());
        return new WorkloadHistory(
                history.observedGeneration(),
                history.attempts().withRestore(Failures.NONE),
                history.lastKnownGood(),
                ImmutableList.of(),
                new FailedRevision(failed.hash(), failed.revision(), failed.times(), failed.at(), failed.error()),
                history.run(),
                history.decision(),
                history.conditions(),
                Asked.NOTHING);
    }

    /** A history in which nothing has its default. */
    public static WorkloadHistory eventful() {
        Failures attempts = new Failures(2, NOON, "it failed", true);
        return new WorkloadHistory(
                7,
                new Attempts(
                        "h1",
                        attempts,
                        attempts.failed(NOON, "again", false),
                        attempts,
                        attempts,
                        attempts,
                        attempts,
                        new ReloadFailures(attempts, "c1"),
                        true,
                        new Reported("B2", ImmutableList.of(DOWNLOAD_REFUSED))),
                new LastKnownGood(plugin("ops-agent", "A1"), "h0", "ops-agent_A1"),
                ImmutableList.of("ops-agent_A0"),
                new FailedRevision(
                        "h2",
                        "B2",
                        3,
                        NOON,
                        "never listened",
                        true,
                        new LastKnownGood(plugin("ops-agent", "B1"), "h3", "ops-agent_B1"),
                        NOON),
                new RunRecord(
                        4,
                        attempts,
                        NOON,
                        2,
                        NOON,
                        OUT_OF_MEMORY,
                        attempts,
                        failedRun(),
                        "launch-1",
                        new CalendarSince("key", NOON),
                        new Completed("w1", "launch-2", "boot", OUT_OF_MEMORY),
                        new RunRecord.Stop("launch-3", RunRecord.Stop.Meaning.SUPERSEDED)),
                new Decision(Execution.State.DISABLED, "os ID equal 'x' does not hold (it is 'y')", NOON),
                ImmutableList.of(new Condition(
                        Condition.Type.HEALTHY, Condition.Status.FALSE, Reason.CHECK_FAILED, "does not answer", NOON)),
                new Asked(true, new Apply("c1", "h1")));
    }

    public static Instance instance(WorkloadId id, String launchId) {
        return instance(id, launchId, "h1", NOON);
    }

    static Instance instance(WorkloadId id, String launchId, String target, Instant launchedAt) {
        return new Instance(
                launchId,
                id,
                target,
                "A1",
                id.name() + "_A1",
                ImmutableSortedMap.of("arguments", "0a", "env", "0b"),
                launchedAt,
                new ProcessIdentity(4711, 123456789, "boot"),
                Phase.STARTED,
                "c0");
    }

    public static Event event(WorkloadId id, String message) {
        return new Event(NOON, id, "A1", EventType.PLUGIN_STARTED, message);
    }

    public static Change history(WorkloadId id, WorkloadHistory history) {
        return new Change(id, history, false, ImmutableList.of(), ImmutableList.of(), ImmutableList.of());
    }

    public static Change events(WorkloadId id, String... messages) {
        ImmutableList<Event> events =
                Stream.of(messages).map(message -> event(id, message)).collect(ImmutableList.toImmutableList());
        return new Change(id, null, false, ImmutableList.of(), ImmutableList.of(), events);
    }

    /** One that is a version ahead. */
    static Schema nextSchema() {
        return new Schema(ImmutableList.<String>builder()
                .addAll(Schema.CURRENT.migrations())
                .add("schema-11-of-a-test.sql")
                .build());
    }
}
