package io.homeostat.reconcile.controlplane;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.state.history.Attempts;
import io.homeostat.desired.state.history.Attempts.Failures;
import io.homeostat.desired.state.history.Condition;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.desired.state.history.OneShotRun;
import io.homeostat.desired.state.history.RunRecord.Completed;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.desired.state.history.WorkloadHistory.FailedRevision;
import io.homeostat.desired.state.history.WorkloadHistory.LastKnownGood;
import io.homeostat.observe.health.Health;
import io.homeostat.observe.usage.UsageReport;
import io.homeostat.observe.usage.UsageReport.Usage;
import io.homeostat.proto.acp.CurrentPluginStates;
import io.homeostat.proto.acp.CurrentPluginStates.DaemonPluginState;
import io.homeostat.proto.acp.CurrentPluginStates.Metric;
import io.homeostat.proto.acp.CurrentPluginStates.OneShotPluginState;
import io.homeostat.proto.acp.CurrentPluginStates.Status;
import io.homeostat.proto.acp.CurrentPluginStates.StatusValue;
import io.homeostat.reconcile.plan.Situation;
import io.homeostat.reconcile.status.Survey.Finding;
import io.homeostat.reconcile.status.WorkloadState;
import io.homeostat.reconcile.status.WorkloadStatus;
import java.time.Instant;
import java.util.Objects;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** What ListPluginStates is answered: every plugin, whoever declares it, as a control plane sees it. Pure. */
public final class PluginStates {
    private static final long KILOBYTE = 1024;

    private PluginStates() {}

    /** Describes plugins for the control plane. */
    @FunctionalInterface
    public interface Source {
        /** Describes the plugins among these workloads, whoever declares them. */
        Answer of(ImmutableList<Finding> findings);
    }

    /**
     * One description.
     *
     * @param acknowledged run once the control plane has acknowledged it; what it carries need not be told again
     */
    public record Answer(CurrentPluginStates message, Runnable acknowledged) {}

    /**
     * The states of all plugins.
     *
     * @param findings of a look at the machine; those of which nothing is left are left out
     * @param usage what has not been reported yet
     */
    public static CurrentPluginStates of(Iterable<Finding> findings, UsageReport usage) {
        CurrentPluginStates.Builder states = CurrentPluginStates.newBuilder();
        for (Finding finding : findings) {
            if (!isTold(finding)) {
                continue;
            }
            RevisionStates revisions = RevisionStates.of(finding);
            ImmutableList<Metric> metrics = usage.samples().get(finding.id()).stream()
                    .map(PluginStates::metric)
                    .collect(ImmutableList.toImmutableList());
            if (isOneShot(finding.situation())) {
                states.addOneShotPluginStates(oneShot(finding.id().name(), revisions, metrics));
            } else {
                states.addDaemonPluginStates(daemon(finding.id().name(), revisions, metrics));
            }
        }
        return states.build();
    }

    /** Whether a control plane is told of a workload. */
    static boolean isTold(Finding finding) {
        return finding.id().kind().equals(Kind.PLUGIN) && finding.matters();
    }

    private static DaemonPluginState daemon(String name, RevisionStates revisions, ImmutableList<Metric> metrics) {
        DaemonPluginState.Builder state = DaemonPluginState.newBuilder()
                .setName(name)
                .setCurrentRevisionId(revisions.current().revision())
                .setCurrentPluginStatus(revisions.current().status())
                .addAllCurrentPluginMetrics(metrics)
                .setConfigHash(revisions.configHash());
        RevisionStates.Revision pending = revisions.pending();
        if (pending != null) {
            state.setPendingRevisionId(pending.revision()).setPendingPluginStatus(pending.status());
        }
        return state.build();
    }

    private static OneShotPluginState oneShot(String name, RevisionStates revisions, ImmutableList<Metric> metrics) {
        OneShotPluginState.Builder state = OneShotPluginState.newBuilder()
                .setName(name)
                .setCurrentRevisionId(revisions.current().revision())
                .setCurrentPluginStatus(revisions.current().status())
                .addAllCurrentPluginMetrics(metrics)
                .setConfigHash(revisions.configHash());
        RevisionStates.Revision pending = revisions.pending();
        if (pending != null) {
            state.setPendingRevisionId(pending.revision()).setPendingPluginStatus(pending.status());
        }
        return state.build();
    }

    /** In the units of the protocol: percent of one core, and kB. */
    private static Metric metric(Usage usage) {
        return Metric.newBuilder()
                .setTimestamp(Protocol.timestamp(usage.at()))
                .setCpuUsage((float) usage.cpuPercent())
                .setMemoryUsage(usage.memoryBytes() / KILOBYTE)
                .build();
    }

    /** As declared; if it no longer is, as it last was. */
    private static boolean isOneShot(Situation situation) {
        Workload workload = workload(situation);
        return workload != null && workload.isOneShot();
    }

    private static @Nullable Workload workload(Situation situation) {
        Declaration declared = situation.declared();
        if (declared != null) {
            return declared.workload();
        }
        LastKnownGood lastKnownGood = situation.history().lastKnownGood();
        return lastKnownGood == null ? null : lastKnownGood.workload();
    }

    /**
     * The two revisions that a control plane is told of. The installed one, or the first to be, is current; one that is to replace it is
     * pending until it has, and stays so if it failed and was undone.
     *
     * @param pending null if nothing is to replace what is there
     * @param configHash of the configuration that the running process has accepted; empty if there is none
     */
    private record RevisionStates(
            Revision current, @Nullable Revision pending, String configHash) {
        /** The response code where a plugin gave none. */
        private static final int PROBLEM = 1;

        /** A revision and its state. */
        record Revision(String revision, Status status) {}

        static RevisionStates of(Finding finding) {
            WorkloadStatus status = WorkloadStatus.of(finding);
            String there = status.currentRevision();
            String wanted = status.desiredRevision();
            boolean undone = finding.situation().undone() != null;
            Revision pending = wanted != null && there != null && (undone || !wanted.equals(there))
                    ? new Revision(wanted, pending(finding.situation(), status))
                    : null;
            String current = there != null ? there : wanted != null ? wanted : "";
            return new RevisionStates(
                    new Revision(current, current(finding.situation(), status, pending != null)),
                    pending,
                    status.configHash());
        }

        /** @param replaced whether another revision is to replace it, whose failures are not this one's */
        private static Status current(Situation situation, WorkloadStatus status, boolean replaced) {
            WorkloadState state = status.state();
            Exit exit = status.lastExit();
            OneShotRun last = situation.history().run().oneShot();
            if (replaced && last != null && last.result() != OneShotRun.Result.RUNNING) {
                return ran(last);
            }
            Completed completed = situation.history().run().completed();
            boolean rests = state == WorkloadState.EXECUTION_COMPLETED;
            if (completed != null && (rests || (replaced && status.identity() == null))) {
                return status(
                        WorkloadState.EXECUTION_COMPLETED,
                        0,
                        ImmutableList.of(),
                        completed.exit().at());
            }
            if (replaced && (state == WorkloadState.INSTALLING || state == WorkloadState.INSTALL_FAILED)) {
                state = exit == null || exit.reason() == Exit.Reason.STOPPED
                        ? WorkloadState.STOPPED
                        : WorkloadState.CRASHED;
            }
            Instant now = situation.now();
            return switch (state) {
                case RUNNING -> running(status.health(), now);
                case CRASHED -> crashed(exit, now);
                case INSTALL_FAILED -> failed(situation, status.failure());
                case EXECUTION_COMPLETED, EXECUTION_FAILED -> ran(Objects.requireNonNull(last));
                case STATE_VALUE_UNSPECIFIED -> unseen(status, now);
                default -> status(state, 0, ImmutableList.of(), now);
            };
        }

        private static Status pending(Situation situation, WorkloadStatus status) {
            Attempts attempts = situation.history().attempts();
            if (situation.undone() != null || attempts.install().count() > 0) {
                return failed(situation, status.failure());
            }
            WorkloadState state = attempts.start().count() > 0 ? WorkloadState.STARTING : WorkloadState.INSTALLING;
            return status(state, 0, ImmutableList.of(), situation.now());
        }

        /** As the plugin answered, whatever its code; without an answer, running. */
        private static Status running(@Nullable Health health, Instant now) {
            if (health == null) {
                return status(WorkloadState.RUNNING, 0, ImmutableList.of(), now);
            }
            return health.verdict() == Health.Verdict.HEALTHY
                    ? status(WorkloadState.RUNNING, health.code(), health.results(), health.checkedAt())
                    : status(WorkloadState.RUNNING, PROBLEM, ImmutableList.of(health.problem()), health.checkedAt());
        }

        private static Status crashed(@Nullable Exit exit, Instant now) {
            return exit == null
                    ? status(WorkloadState.CRASHED, PROBLEM, ImmutableList.of(), now)
                    : status(WorkloadState.CRASHED, PROBLEM, ImmutableList.of(exit.sentence()), exit.at());
        }

        /** By the exit status of its process, if it has one. */
        private static Status ran(OneShotRun run) {
            Instant ended = Objects.requireNonNull(run.endedAt());
            if (run.result() == OneShotRun.Result.COMPLETED) {
                return status(WorkloadState.EXECUTION_COMPLETED, 0, ImmutableList.of(), ended);
            }
            Exit exit = run.exit();
            Integer code = exit == null ? null : exit.code();
            return status(
                    WorkloadState.EXECUTION_FAILED,
                    code == null || code == 0 ? PROBLEM : code,
                    ImmutableList.of(run.error()),
                    ended);
        }

        private static Status failed(Situation situation, String failure) {
            return status(WorkloadState.INSTALL_FAILED, PROBLEM, ImmutableList.of(failure), failedAt(situation));
        }

        /** It could not be observed; the time says since when. */
        private static Status unseen(WorkloadStatus status, Instant now) {
            Instant since = status.conditions().stream()
                    .filter(condition -> condition.type() == Condition.Type.CONVERGED)
                    .map(Condition::lastTransitionTime)
                    .findFirst()
                    .orElse(now);
            return status(
                    WorkloadState.STATE_VALUE_UNSPECIFIED,
                    PROBLEM,
                    ImmutableList.of(status.plan().message()),
                    since);
        }

        private static Instant failedAt(Situation situation) {
            WorkloadHistory history = situation.history();
            FailedRevision undone = situation.undone();
            return undone != null
                    ? undone.at()
                    : Stream.of(history.attempts().install(), history.attempts().start())
                            .map(Failures::last)
                            .flatMap(Stream::ofNullable)
                            .findFirst()
                            .orElse(situation.now());
        }

        private static Status status(WorkloadState state, int code, ImmutableList<String> results, Instant at) {
            return Status.newBuilder()
                    .setStatus(StatusValue.valueOf(state.name()))
                    .setResponseCode(code)
                    .addAllResults(results)
                    .setUpdateTime(Protocol.timestamp(at))
                    .build();
        }
    }
}
