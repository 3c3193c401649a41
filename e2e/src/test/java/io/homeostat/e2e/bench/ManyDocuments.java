package io.homeostat.e2e.bench;

import io.homeostat.e2e.measure.Workplace;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** How long a plan of a thousand workloads takes, from one file and from a thousand. */
final class ManyDocuments {
    private static final int DOCUMENTS = 1000;

    private ManyDocuments() {}

    static void measure(Bench bench) throws IOException, InterruptedException {
        try (Workplace place = new Workplace()) {
            Program program = new Program(bench.distribution(), place);
            StringBuilder all = new StringBuilder();
            for (int i = 0; i < DOCUMENTS; i++) {
                String document = document(i);
                all.append("---\n").append(document);
                Path _ = place.write("many/d" + i + ".yaml", document);
            }
            Path file = place.write("many.yaml", all.toString());
            bench.add(Figure.PLAN_ONE_FILE, seconds(bench, program, file));
            bench.add(Figure.PLAN_MANY_FILES, seconds(bench, program, place.path("many")));
        }
    }

    private static List<Double> seconds(Bench bench, Program program, Path path)
            throws IOException, InterruptedException {
        List<Double> seconds = new ArrayList<>();
        for (int i = 0; i < bench.times(7, 3); i++) {
            seconds.add(program.seconds(DOCUMENTS + " to install", "plan", "-f", path.toString()));
        }
        return seconds;
    }

    private static String document(int number) {
        return """
                apiVersion: homeostat.io/v1
                kind: Plugin
                metadata:
                  name: agent-%d
                  labels: {team: sre, tier: "1"}
                spec:
                  revision: "67C5640D"
                  source:
                    url: https://storage.example/bucket/agent-%d.tar.gz?X-Goog-Signature=0123456789abcdef
                    sha256: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
                    timeout: 60s
                  entryPoint: bin/agent
                  arguments: ["--verbose", "--number=%d"]
                  env: {FOO: bar}
                  config:
                    struct: {endpoint: "https://example.com", interval: 10}
                  limits: {memory: 256Mi, cpu: 20%%}
                  stop: {timeout: 10s}
                """.formatted(number, number, number);
    }
}
