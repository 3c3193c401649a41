package io.homeostat.reconcile.controlplane;

import io.homeostat.desired.model.Redaction;
import io.homeostat.proto.acp.GuestAgentModuleMetric;
import io.homeostat.proto.acp.GuestAgentModuleMetric.Metric;
import io.homeostat.proto.acp.GuestAgentModuleMetric.ModuleStatus;
import io.homeostat.proto.acp.GuestAgentModuleMetrics;
import java.time.Instant;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/** The last start or run of parts of the agent, under the names that control planes have for modules. */
public final class Modules {
    private final Map<Part, GuestAgentModuleMetric> latest = new TreeMap<>();

    /** A part of the agent, and the module that is closest to it. */
    public enum Part {
        /** The loop that keeps workloads at their declared state. */
        LOOP(Metric.CORE_PLUGIN_INITIALIZATION),
        /** The socket that other commands come to. */
        COMMANDS(Metric.COMMAND_INITIALIZATION),
        /** The endpoint for metrics. */
        TELEMETRY(Metric.TELEMETRY_INITIALIZATION),
        /** The removal of archives and events that nobody needs. */
        CLEANING(Metric.PLUGIN_CLEANUP);

        private final Metric metric;

        Part(Metric metric) {
            this.metric = metric;
        }
    }

    /**
     * Records a run of a part.
     *
     * @param error empty if it went well; contains no secrets
     */
    public synchronized void ran(Part part, Instant start, Instant end, Optional<String> error) {
        latest.put(
                part,
                GuestAgentModuleMetric.newBuilder()
                        .setMetricName(part.metric)
                        .setStartTime(Protocol.timestamp(start))
                        .setEndTime(Protocol.timestamp(end))
                        .setEnabled(true)
                        .setModuleStatus(error.isEmpty() ? ModuleStatus.STATUS_SUCCEEDED : ModuleStatus.STATUS_FAILED)
                        .setError(error.map(Redaction::text).orElse(""))
                        .build());
    }

    /** Records that a part is turned off. */
    public synchronized void skipped(Part part, Instant at) {
        latest.put(
                part,
                GuestAgentModuleMetric.newBuilder()
                        .setMetricName(part.metric)
                        .setStartTime(Protocol.timestamp(at))
                        .setEndTime(Protocol.timestamp(at))
                        .setModuleStatus(ModuleStatus.STATUS_SKIPPED)
                        .build());
    }

    synchronized GuestAgentModuleMetrics report() {
        return GuestAgentModuleMetrics.newBuilder()
                .addAllMetrics(latest.values())
                .build();
    }
}
