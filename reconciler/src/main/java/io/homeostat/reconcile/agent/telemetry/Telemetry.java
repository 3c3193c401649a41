package io.homeostat.reconcile.agent.telemetry;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.collect.ImmutableList;
import io.homeostat.reconcile.loop.PassListener;
import java.time.Instant;

/**
 * All that makes a running agent visible. Whoever runs passes has them heard by the {@link #listeners} and lets the {@link #watch}'s heart
 * beat.
 */
public record Telemetry(PassLog log, LoopWatch watch, AgentMetrics metrics) {

    /**
     * Telemetry of an agent that has seen no pass yet.
     *
     * @param started when this process began
     */
    public static Telemetry of(Ticker ticker, String version, Instant started) {
        LoopWatch watch = new LoopWatch(ticker);
        AgentMetrics metrics = new AgentMetrics(ticker, version, started);
        metrics.watch(watch);
        return new Telemetry(new PassLog(ticker), watch, metrics);
    }

    public ImmutableList<PassListener> listeners() {
        return ImmutableList.of(log, watch, metrics.passes());
    }
}
