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

/** How our own parts fared when they were last begun or run, under the names that control planes know modules by. */
public final class Modules {
    private final Map<Part, GuestAgentModuleMetric> latest = new TreeMap<>();

    /** A part of the agent, by the module that comes nearest to it. */
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
     * Notes how a part fared, in place of what was noted before.
     *
     * @param error empty when it went well; no secrets in it
     */
    public synchronized void ran(Part part, Instant start, Instant end, Optional<String> error) {
        latest.put(
                part,
                GuestAgentModuleMetric.newBuilder()
                        .setMetricName(part.metric)
                        .setStartTime(Timestamps.of(start))
                        .setEndTime(Timestamps.of(end))
                        .setEnabled(true)
                        .setModuleStatus(error.isEmpty() ? ModuleStatus.STATUS_SUCCEEDED : ModuleStatus.STATUS_FAILED)
                        .setError(error.map(Redaction::text).orElse(""))
                        .build());
    }

    /** Notes that a part is not wanted here. */
    public synchronized void skipped(Part part, Instant at) {
        latest.put(
                part,
                GuestAgentModuleMetric.newBuilder()
                        .setMetricName(part.metric)
                        .setStartTime(Timestamps.of(at))
                        .setEndTime(Timestamps.of(at))
                        .setModuleStatus(ModuleStatus.STATUS_SKIPPED)
                        .build());
    }

    synchronized GuestAgentModuleMetrics report() {
        return GuestAgentModuleMetrics.newBuilder()
                .addAllMetrics(latest.values())
                .build();
    }
}
