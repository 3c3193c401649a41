package io.homeostat.reconcile.agent.telemetry;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.collect.ImmutableList;
import io.homeostat.reconcile.loop.PassListener;
import java.time.Instant;

/** Everything that makes a running agent visible. Passes are reported to the {@link #listeners}, the heartbeat to the {@link #watch}. */
public record Telemetry(PassLog log, LoopWatch watch, AgentMetrics metrics) {

    /** Telemetry of an agent that has seen no pass yet. */
    public static Telemetry of(Ticker ticker, String version, Instant started) {
        LoopWatch watch = new LoopWatch(ticker);
        AgentMetrics metrics = new AgentMetrics(ticker, version, started);
        metrics.watch(watch);
        return new Telemetry(new PassLog(ticker), watch, metrics);
    }

    public ImmutableList<PassListener> listeners() {
        return ImmutableList.<PassListener>builder()
                .add(log, watch)
                .addAll(metrics.listeners())
                .build();
    }
}
