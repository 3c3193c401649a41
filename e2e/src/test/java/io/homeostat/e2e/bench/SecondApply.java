package io.homeostat.e2e.bench;

import io.homeostat.e2e.measure.Workplace;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** How long it takes to see that nothing is to be done: 45 processes and 5 plugins that are as declared. */
final class SecondApply {
    private static final int PROCESSES = 45;
    private static final int PLUGINS = 5;

    private SecondApply() {}

    static void measure(Bench bench) throws IOException, InterruptedException {
        try (Workplace place = new Workplace()) {
            bench.add(Figure.SECOND_APPLY, seconds(bench, new Program(bench.distribution(), place)));
        }
    }

    private static List<Double> seconds(Bench bench, Program program) throws IOException, InterruptedException {
        Path greeter = Path.of(System.getProperty("homeostat.greeter"));
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < PROCESSES; i++) {
            text.append("""
                    ---
                    apiVersion: homeostat.io/v1
                    kind: Process
                    metadata: {name: p%d}
                    spec: {install: local, entryPoint: /bin/sleep, arguments: ["100000"]}
                    """.formatted(i));
        }
        for (int i = 0; i < PLUGINS; i++) {
            text.append("""
                    ---
                    apiVersion: homeostat.io/v1
                    kind: Plugin
                    metadata: {name: g%d}
                    spec: {revision: "1", source: {url: "%s"}, entryPoint: bin/greeter}
                    """.formatted(i, greeter));
        }
        Path file = program.place().write("many.yaml", text.toString());
        int count = PROCESSES + PLUGINS;
        double _ = program.seconds(count + " installed", "apply", "-f", file.toString());
        List<Double> seconds = new ArrayList<>();
        for (int i = 0; i < bench.times(7, 3); i++) {
            seconds.add(program.seconds(count + " unchanged", "apply", "-f", file.toString()));
        }
        return seconds;
    }
}
