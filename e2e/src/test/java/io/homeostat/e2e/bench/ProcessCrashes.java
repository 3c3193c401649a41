package io.homeostat.e2e.bench;

import io.homeostat.e2e.measure.ProcFs;
import io.homeostat.e2e.measure.StampProgram;
import io.homeostat.e2e.measure.Stamps;
import io.homeostat.e2e.measure.Stamps.Stamp;
import io.homeostat.e2e.measure.Waiting;
import io.homeostat.e2e.measure.Workplace;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * How long a process is away that was killed, for the first time, after it has run long enough for anybody to start it again at once:
 * each of many is killed once, one after the other.
 */
final class ProcessCrashes {
    private static final int USUALLY = 50;
    private static final int QUICKLY = 10;
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final Duration LONG_ENOUGH = Duration.ofSeconds(3);
    private static final double NANOS_PER_MILLI = 1e6;

    private ProcessCrashes() {}

    static void measure(Bench bench) throws IOException, InterruptedException {
        for (Supervisor supervisor : Supervisor.present(bench, Figure.CRASH_EXEC.benchmark())) {
            try (Workplace place = new Workplace()) {
                bench.add(Figure.CRASH_EXEC, supervisor.subject(), millis(bench, supervisor, place));
            }
        }
    }

    private static List<Double> millis(Bench bench, Supervisor supervisor, Workplace place)
            throws IOException, InterruptedException {
        Path program = place.path("stamp");
        String _ = StampProgram.create(place, program);
        Map<String, Stamps> stamps = new LinkedHashMap<>();
        Map<String, List<String>> programs = new LinkedHashMap<>();
        for (int i = 0; i < bench.times(USUALLY, QUICKLY); i++) {
            Stamps own = new Stamps(place.path("stamps." + i));
            stamps.put("p" + i, own);
            programs.put("p" + i, List.of(program.toString(), own.argument()));
        }
        long _ = supervisor.start(bench, place, programs);
        for (Stamps own : stamps.values()) {
            Stamp _ = own.await(1, PATIENCE);
        }
        Waiting.pass(LONG_ENOUGH);
        List<Double> millis = new ArrayList<>();
        for (Stamps own : stamps.values()) {
            Stamp first = own.await(1, PATIENCE);
            long killed = System.nanoTime();
            ProcFs.kill(first.pid());
            millis.add((own.await(2, PATIENCE).nanos() - killed) / NANOS_PER_MILLI);
        }
        return millis;
    }
}
