package io.homeostat.e2e.bench;

import io.homeostat.e2e.measure.ProcFs;
import io.homeostat.e2e.measure.StampProgram;
import io.homeostat.e2e.measure.Stamps;
import io.homeostat.e2e.measure.Stamps.Stamp;
import io.homeostat.e2e.measure.Waiting;
import io.homeostat.e2e.measure.Workplace;
import io.homeostat.proto.acp.PluginEventMessage.PluginEventType;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.ToDoubleFunction;

/** What keeping workloads costs while nothing happens: memory, threads and processor, of everybody who keeps them. */
final class Footprint {
    private static final int FEW = 20;
    private static final int MANY = 112;
    private static final Duration PATIENCE = Duration.ofSeconds(120);
    private static final Duration SETTLING = Duration.ofSeconds(20);
    private static final Duration WINDOW = Duration.ofSeconds(60);
    private static final Duration QUICK_WINDOW = Duration.ofSeconds(20);
    private static final double PERCENT = 100;
    private static final double NANOS_PER_SECOND = 1e9;

    private final Bench bench;
    private final Map<Figure, Map<String, List<Double>>> values = new LinkedHashMap<>();

    private Footprint(Bench bench) {
        this.bench = bench;
    }

    /** Who keeps workloads that run: its own processes, the first of which is the one that decides. */
    private record Keeping(String subject, List<Long> pids) {
        double sum(ToDoubleFunction<Long> value) {
            return pids.stream().mapToDouble(value).sum();
        }

        /** An agent of ours is one process; what it runs beside workloads is counted apart. */
        double own(ToDoubleFunction<Long> value) {
            return subject.equals(Samples.OURS) ? value.applyAsDouble(pids.getFirst()) : sum(value);
        }
    }

    private interface Look {
        void at(Keeping keeping) throws IOException, InterruptedException;
    }

    static void measureMemory(Bench bench) throws IOException, InterruptedException {
        Footprint footprint = new Footprint(bench);
        for (int i = 0; i < bench.times(3, 1); i++) {
            footprint.plugins("memory", 1, keeping -> {
                footprint.memory(keeping, Figure.RSS_1_PLUGIN, Figure.ANONYMOUS_1_PLUGIN);
            });
            footprint.plugins("memory", FEW, keeping -> {
                footprint.memory(keeping, Figure.RSS_20_PLUGINS, Figure.ANONYMOUS_20_PLUGINS);
            });
            footprint.processes("memory", FEW, keeping -> {
                footprint.memory(keeping, Figure.RSS_20_PROCESSES, Figure.ANONYMOUS_20_PROCESSES);
                footprint.add(
                        Figure.PSS_ALL_20_PROCESSES,
                        keeping,
                        keeping.sum(pid -> ProcFs.mebibytes(pid, "smaps_rollup", "Pss")));
                footprint.threads(keeping, Figure.THREADS_20);
            });
            footprint.processes("memory", MANY, keeping -> footprint.threads(keeping, Figure.THREADS_112));
        }
        footprint.report();
    }

    static void measureIdle(Bench bench) throws IOException, InterruptedException {
        Footprint footprint = new Footprint(bench);
        footprint.processes("idle", FEW, keeping -> footprint.idle(keeping, Figure.IDLE_20_PROCESSES));
        footprint.processes("idle", MANY, keeping -> footprint.idle(keeping, Figure.IDLE_112_PROCESSES));
        footprint.plugins("idle", 1, keeping -> footprint.idle(keeping, Figure.IDLE_1_PLUGIN));
        footprint.plugins("idle", FEW, keeping -> footprint.idle(keeping, Figure.IDLE_20_PLUGINS));
        footprint.report();
    }

    private void add(Figure figure, Keeping keeping, double value) {
        values.computeIfAbsent(figure, key -> new LinkedHashMap<>())
                .computeIfAbsent(keeping.subject(), key -> new ArrayList<>())
                .add(value);
    }

    private void report() {
        values.forEach((figure, subjects) -> subjects.forEach((subject, all) -> bench.add(figure, subject, all)));
    }

    private void memory(Keeping keeping, Figure resident, Figure anonymous) {
        add(resident, keeping, keeping.own(pid -> ProcFs.mebibytes(pid, "status", "VmRSS")));
        add(anonymous, keeping, keeping.own(pid -> ProcFs.mebibytes(pid, "smaps_rollup", "Anonymous")));
    }

    private void threads(Keeping keeping, Figure figure) {
        if (keeping.subject().equals(Samples.OURS)) {
            add(figure, keeping, keeping.own(ProcFs::threads));
        }
    }

    private void idle(Keeping keeping, Figure figure) throws InterruptedException {
        Duration window = bench.times(1, 0) == 1 ? WINDOW : QUICK_WINDOW;
        for (int i = 0; i < bench.times(3, 1); i++) {
            double before = keeping.sum(ProcFs::processorSeconds);
            long begun = System.nanoTime();
            Waiting.pass(window);
            double seconds = (System.nanoTime() - begun) / NANOS_PER_SECOND;
            add(figure, keeping, (keeping.sum(ProcFs::processorSeconds) - before) / seconds * PERCENT);
        }
    }

    private void processes(String benchmark, int count, Look look) throws IOException, InterruptedException {
        // Peers are compared at the smaller number.
        List<Supervisor> supervisors =
                count == FEW ? Supervisor.present(bench, benchmark) : List.of(Supervisor.HOMEOSTAT);
        for (Supervisor supervisor : supervisors) {
            try (Workplace place = new Workplace()) {
                Path stamp = place.path("stamp");
                String _ = StampProgram.create(place, stamp);
                Stamps stamps = new Stamps(place.path("stamps"));
                Map<String, List<String>> programs = new LinkedHashMap<>();
                for (int i = 0; i < count; i++) {
                    programs.put("p" + i, List.of(stamp.toString(), stamps.argument()));
                }
                long pid = supervisor.start(bench, place, programs);
                Stamp _ = stamps.await(count, PATIENCE);
                Waiting.pass(SETTLING);
                look.at(keeping(supervisor.subject(), pid, place, stamps.read()));
            }
        }
    }

    private void plugins(String benchmark, int count, Look look) throws IOException, InterruptedException {
        Optional<String> missing = PluginArchive.missing();
        if (missing.isPresent()) {
            bench.skip(benchmark, Samples.OURS, missing.get());
            return;
        }
        for (PluginAgent agent : PluginAgent.present(bench, benchmark)) {
            try (Workplace place = new Workplace();
                    PluginFleet fleet = new PluginFleet(bench, agent, place)) {
                List<Stamp> plugins = new ArrayList<>();
                for (int i = 0; i < count; i++) {
                    String plugin = "plugin-" + i;
                    long _ = fleet.install(plugin);
                    long _ = fleet.awaitEvent(plugin, PluginEventType.PLUGIN_INSTALLED, 1);
                    plugins.add(fleet.stamps(plugin).await(1, PATIENCE));
                }
                Waiting.pass(SETTLING);
                look.at(keeping(agent.subject(), fleet.pid(), place, plugins));
            }
        }
    }

    private static Keeping keeping(String subject, long first, Workplace place, List<Stamp> workloads) {
        List<Long> pids = new ArrayList<>(List.of(first));
        List<Long> kept = workloads.stream().map(Stamp::pid).toList();
        place.processes().stream()
                .filter(pid -> pid != first && !kept.contains(pid))
                .forEach(pids::add);
        return new Keeping(subject, pids);
    }
}
