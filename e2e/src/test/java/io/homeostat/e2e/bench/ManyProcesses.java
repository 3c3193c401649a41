package io.homeostat.e2e.bench;

import io.homeostat.e2e.measure.StampProgram;
import io.homeostat.e2e.measure.Stamps;
import io.homeostat.e2e.measure.Waiting;
import io.homeostat.e2e.measure.Workplace;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** How long it takes from the start of an agent until it runs many processes, and to see that so many are as declared. */
final class ManyProcesses {
    private static final int MOST = 2000;
    private static final Duration PATIENCE = Duration.ofMinutes(5);
    private static final double NANOS_PER_SECOND = 1e9;

    private ManyProcesses() {}

    static void measure(Bench bench) throws IOException, InterruptedException {
        try (Workplace place = new Workplace()) {
            Path stamp = place.path("stamp");
            String _ = StampProgram.create(place, stamp);
            measure(bench, place, stamp, Figure.PROCESSES_100, 100, bench.times(5, 2));
            measure(bench, place, stamp, Figure.PROCESSES_500, 500, bench.times(5, 1));
            measure(bench, place, stamp, Figure.PROCESSES_2000, MOST, bench.times(3, 1));
        }
    }

    private static void measure(Bench bench, Workplace place, Path stamp, Figure figure, int count, int times)
            throws IOException, InterruptedException {
        List<Double> seconds = new ArrayList<>();
        List<Double> passes = new ArrayList<>();
        for (int i = 0; i < times; i++) {
            Program program = new Program(bench.distribution(), place);
            Path file = place.path("stamps");
            Files.deleteIfExists(file);
            Stamps stamps = new Stamps(file);
            program.declare("all.yaml", Documents.processes(count, List.of(stamp.toString(), stamps.argument())));
            program.settleDisk();
            long started = System.nanoTime();
            Program.Agent _ = program.startAgent("");
            seconds.add((stamps.await(count, PATIENCE).nanos() - started) / NANOS_PER_SECOND);
            if (count == MOST && i == times - 1) {
                passes.addAll(passes(bench, program));
            }
            program.reset();
        }
        bench.add(figure, seconds);
        bench.add(Figure.CONVERGED_2000, passes);
    }

    private static List<Double> passes(Bench bench, Program program) throws IOException, InterruptedException {
        Waiting.until("all is as declared", PATIENCE, () -> program.succeeds("plan", "--detailed-exitcode"));
        List<Double> seconds = new ArrayList<>();
        for (int i = 0; i < bench.times(7, 3); i++) {
            seconds.add(program.seconds(MOST + " unchanged", "plan"));
        }
        return seconds;
    }
}
