package io.homeostat.e2e.bench;

import io.homeostat.e2e.measure.ProcFs;
import io.homeostat.e2e.measure.Stamps.Stamp;
import io.homeostat.e2e.measure.Waiting;
import io.homeostat.e2e.measure.Workplace;
import io.homeostat.proto.acp.PluginEventMessage.PluginEventType;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** What a control plane waits for: installations, removals, repairs, and an agent that comes back. */
final class Plugins {
    private static final Duration LONG_ENOUGH = Duration.ofSeconds(3);
    private static final double NANOS_PER_MILLI = 1e6;

    private final Bench bench;
    private final String subject;
    private final PluginFleet fleet;

    private Plugins(Bench bench, String subject, PluginFleet fleet) {
        this.bench = bench;
        this.subject = subject;
        this.fleet = fleet;
    }

    static void measure(Bench bench) throws IOException, InterruptedException {
        Optional<String> missing = PluginArchive.missing();
        if (missing.isPresent()) {
            bench.skip("plugin", Samples.OURS, missing.get());
            return;
        }
        for (PluginAgent agent : PluginAgent.present(bench, "plugin")) {
            try (Workplace place = new Workplace();
                    PluginFleet fleet = new PluginFleet(bench, agent, place)) {
                Plugins plugins = new Plugins(bench, agent.subject(), fleet);
                plugins.installAndRemove();
                plugins.crashAndRestartAgent();
            }
        }
    }

    private void installAndRemove() throws IOException, InterruptedException {
        List<Double> exec = new ArrayList<>();
        List<Double> running = new ArrayList<>();
        List<Double> removed = new ArrayList<>();
        for (int i = 0; i < bench.times(50, 10); i++) {
            String plugin = "plugin-" + i;
            long sent = fleet.install(plugin);
            running.add(millis(sent, fleet.awaitEvent(plugin, PluginEventType.PLUGIN_STARTED, 1)));
            exec.add(millis(
                    sent, fleet.stamps(plugin).await(1, PluginFleet.PATIENCE).nanos()));
            long _ = fleet.awaitEvent(plugin, PluginEventType.PLUGIN_INSTALLED, 1);
            long removal = fleet.remove(plugin);
            removed.add(millis(removal, fleet.awaitEvent(plugin, PluginEventType.PLUGIN_REMOVED, 1)));
        }
        bench.add(Figure.PLUGIN_EXEC, subject, exec);
        bench.add(Figure.PLUGIN_RUNNING, subject, running);
        bench.add(Figure.PLUGIN_REMOVED, subject, removed);
    }

    /** Each of some plugins is killed for the first time; then they live on while agents come and go. */
    private void crashAndRestartAgent() throws IOException, InterruptedException {
        List<String> plugins = new ArrayList<>();
        for (int i = 0; i < bench.times(20, 5); i++) {
            String plugin = "crashing-" + i;
            plugins.add(plugin);
            long _ = fleet.install(plugin);
            long _ = fleet.awaitEvent(plugin, PluginEventType.PLUGIN_INSTALLED, 1);
        }
        Waiting.pass(LONG_ENOUGH);
        List<Double> exec = new ArrayList<>();
        List<Double> running = new ArrayList<>();
        List<Long> pids = new ArrayList<>();
        for (String plugin : plugins) {
            Stamp first = fleet.stamps(plugin).await(1, PluginFleet.PATIENCE);
            long killed = System.nanoTime();
            ProcFs.kill(first.pid());
            Stamp second = fleet.stamps(plugin).await(2, PluginFleet.PATIENCE);
            exec.add(millis(killed, second.nanos()));
            running.add(millis(killed, fleet.awaitEvent(plugin, PluginEventType.PLUGIN_STARTED, 2)));
            pids.add(second.pid());
        }
        bench.add(Figure.PLUGIN_CRASH_EXEC, subject, exec);
        bench.add(Figure.PLUGIN_CRASH_RUNNING, subject, running);

        List<Double> registered = new ArrayList<>();
        for (int i = 0; i < bench.times(15, 3); i++) {
            registered.add(fleet.restartAgentNanos() / NANOS_PER_MILLI);
            fleet.requireAlive(pids);
        }
        bench.add(Figure.AGENT_REGISTERED, subject, registered);
    }

    private static double millis(long from, long to) {
        return (to - from) / NANOS_PER_MILLI;
    }
}
