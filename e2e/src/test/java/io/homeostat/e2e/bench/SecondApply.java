package io.homeostat.e2e.bench;

import io.homeostat.e2e.bench.Benchmarks.Measured;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** How long it takes to see that nothing is to be done: 45 processes and 5 plugins that are as declared. */
final class SecondApply {
    private static final int PROCESSES = 45;
    private static final int PLUGINS = 5;
    private static final int RUNS = 7;
    private static final double BOUND_SECONDS = 1;

    private SecondApply() {}

    static Measured measure(Program program, Path greeter) throws IOException, InterruptedException {
        StringBuilder text = new StringBuilder();
        List<String> workloads = new ArrayList<>();
        for (int i = 0; i < PROCESSES; i++) {
            workloads.add("process/p" + i);
            text.append("""
                    ---
                    apiVersion: homeostat.io/v1
                    kind: Process
                    metadata: {name: p%d}
                    spec: {install: local, entryPoint: /bin/sleep, arguments: ["100000"]}
                    """.formatted(i));
        }
        for (int i = 0; i < PLUGINS; i++) {
            workloads.add("plugin/g" + i);
            text.append("""
                    ---
                    apiVersion: homeostat.io/v1
                    kind: Plugin
                    metadata: {name: g%d}
                    spec: {revision: "1", source: {url: "%s"}, entryPoint: bin/greeter}
                    """.formatted(i, greeter));
        }
        Path file = Files.writeString(program.root().resolve("many.yaml"), text);
        program.applied(workloads);
        int count = PROCESSES + PLUGINS;
        program.seconds(count + " installed", "apply", "-f", file.toString());
        List<Double> seconds = new ArrayList<>();
        for (int i = 0; i < RUNS; i++) {
            seconds.add(program.seconds(count + " unchanged", "apply", "-f", file.toString()));
        }
        return new Measured(
                "second apply of " + count + " converged workloads",
                Benchmarks.median(seconds),
                BOUND_SECONDS,
                "s",
                Benchmarks.list(seconds));
    }
}
