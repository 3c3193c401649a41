package io.homeostat.e2e.bench;

import io.homeostat.e2e.bench.Benchmarks.Measured;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** How long a plan of a thousand workloads takes, from one file and from a thousand. */
final class ManyDocuments {
    private static final int DOCUMENTS = 1000;
    private static final int RUNS = 7;
    private static final double BOUND_SECONDS = 1;

    private ManyDocuments() {}

    static List<Measured> measure(Program program) throws IOException, InterruptedException {
        Path directory = Files.createDirectory(program.root().resolve("many"));
        StringBuilder all = new StringBuilder();
        for (int i = 0; i < DOCUMENTS; i++) {
            String document = document(i);
            all.append("---\n").append(document);
            Files.writeString(directory.resolve("d" + i + ".yaml"), document);
        }
        Path file = Files.writeString(program.root().resolve("many.yaml"), all);
        return List.of(
                measure(program, "plan of " + DOCUMENTS + " documents in one file", file),
                measure(program, "plan of " + DOCUMENTS + " documents in " + DOCUMENTS + " files", directory));
    }

    private static Measured measure(Program program, String name, Path path) throws IOException, InterruptedException {
        List<Double> seconds = new ArrayList<>();
        for (int i = 0; i < RUNS; i++) {
            seconds.add(program.seconds(DOCUMENTS + " to install", "plan", "-f", path.toString()));
        }
        return new Measured(name, Benchmarks.median(seconds), BOUND_SECONDS, "s", Benchmarks.list(seconds));
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
