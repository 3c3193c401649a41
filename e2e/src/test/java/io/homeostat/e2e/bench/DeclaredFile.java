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

/** How long after a file is there the process runs that it declares. */
final class DeclaredFile {
    private static final int USUALLY = 50;
    private static final int QUICKLY = 10;
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    /** Between two, so that the one before is done with. */
    private static final Duration PAUSE = Duration.ofMillis(300);

    private static final double NANOS_PER_MILLI = 1e6;

    private DeclaredFile() {}

    static void measure(Bench bench) throws IOException, InterruptedException {
        try (Workplace place = new Workplace()) {
            Program program = new Program(bench.distribution(), place);
            Path stamp = place.path("stamp");
            String _ = StampProgram.create(place, stamp);
            Stamps stamps = new Stamps(place.path("stamps"));
            Program.Agent _ = program.startAgent("").awaitReady();
            List<Double> millis = new ArrayList<>();
            // The first one is not counted: it is the start of the agent, to which its own figure belongs.
            for (int i = 0; i <= bench.times(USUALLY, QUICKLY); i++) {
                Waiting.pass(PAUSE);
                String document = Documents.process("p" + i, List.of(stamp.toString(), stamps.argument()));
                long declared = System.nanoTime();
                program.declare("p" + i + ".yaml", document);
                Stamp begun = stamps.await(i + 1, PATIENCE);
                if (i > 0) {
                    millis.add((begun.nanos() - declared) / NANOS_PER_MILLI);
                }
            }
            bench.add(Figure.FILE_EXEC, millis);
        }
    }
}
