package io.homeostat.e2e.bench;

import io.homeostat.e2e.measure.StampProgram;
import io.homeostat.e2e.measure.Stamps;
import io.homeostat.e2e.measure.Stamps.Stamp;
import io.homeostat.e2e.measure.Waiting;
import io.homeostat.e2e.measure.Workplace;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** How long commands take, from their start to their end. */
final class CommandTimes {
    private static final int PROCESSES = 20;
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private CommandTimes() {}

    static void measure(Bench bench) throws IOException, InterruptedException {
        try (Workplace place = new Workplace()) {
            Program program = new Program(bench.distribution(), place);
            Path stamp = place.path("stamp");
            String _ = StampProgram.create(place, stamp);
            Stamps stamps = new Stamps(place.path("stamps"));
            List<String> line = List.of(stamp.toString(), stamps.argument());
            Path document = place.write("one.yaml", Documents.process("one", line));
            bench.add(Figure.VALIDATE, seconds(bench, program, "", "validate", "-f", document.toString()));
            program.declare("all.yaml", Documents.processes(PROCESSES, line));
            Program.Agent _ = program.startAgent("");
            Stamp _ = stamps.await(PROCESSES, PATIENCE);
            Waiting.until("all is well", PATIENCE, () -> program.succeeds("status"));
            bench.add(Figure.STATUS, seconds(bench, program, "RUNNING", "status"));
            bench.add(Figure.PLAN, seconds(bench, program, PROCESSES + " unchanged", "plan"));
        }
    }

    private static List<Double> seconds(Bench bench, Program program, String expected, String... words)
            throws IOException, InterruptedException {
        List<Double> seconds = new ArrayList<>();
        for (int i = 0; i < bench.times(30, 7); i++) {
            seconds.add(program.seconds(expected, words));
        }
        return seconds;
    }
}
