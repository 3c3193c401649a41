package io.homeostat.reconcile.controlplane;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.Lifecycle.Execution;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.state.history.WorkloadHistory.LastKnownGood;
import io.homeostat.observe.usage.UsageReport;
import io.homeostat.observe.usage.UsageReport.Usage;
import io.homeostat.proto.acp.CurrentPluginStates;
import io.homeostat.proto.acp.CurrentPluginStates.DaemonPluginState;
import io.homeostat.proto.acp.CurrentPluginStates.Metric;
import io.homeostat.proto.acp.CurrentPluginStates.OneShotPluginState;
import io.homeostat.reconcile.plan.Situation;
import io.homeostat.reconcile.status.Survey.Finding;
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

    /** Whether a control plane hears of a workload. */
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
        return workload != null && workload.lifecycle().execution().type() == Execution.Type.ONE_SHOT;
    }

    private static @Nullable Workload workload(Situation situation) {
        Declaration declared = situation.declared();
        if (declared != null) {
            return declared.workload();
        }
        LastKnownGood lastKnownGood = situation.history().lastKnownGood();
        return lastKnownGood == null ? null : lastKnownGood.workload();
    }
}
