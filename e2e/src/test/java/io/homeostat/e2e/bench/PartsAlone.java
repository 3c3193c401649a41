package io.homeostat.e2e.bench;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.homeostat.e2e.measure.Workplace;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/** What is measured without anything around it, by JMH. */
final class PartsAlone {
    private static final ObjectMapper JSON = new ObjectMapper();

    private PartsAlone() {}

    static void measurePlanner(Bench bench) throws IOException, InterruptedException {
        measure(
                bench,
                "PlannerBenchmark",
                "planner",
                "state",
                Map.of("converged", Figure.PLANNER_CONVERGED, "new", Figure.PLANNER_NEW));
    }

    static void measureSampling(Bench bench) throws IOException, InterruptedException {
        if (!System.getProperty("user.name").equals("root")) {
            bench.skip("sampling", Samples.OURS, "only root may make control groups");
            return;
        }
        measure(
                bench,
                "SamplingBenchmark",
                "sampling",
                "by",
                Map.of("groups", Figure.SAMPLE_IN_GROUPS, "tree", Figure.SAMPLE_BY_TREE));
    }

    /** @param figures by the value of the one parameter */
    private static void measure(
            Bench bench, String pattern, String benchmark, String parameter, Map<String, Figure> figures)
            throws IOException, InterruptedException {
        if (!Microbenchmarks.areBuilt()) {
            bench.skip(benchmark, Samples.OURS, "e2e/jmh has not been built");
            return;
        }
        try (Workplace place = new Workplace()) {
            Path results = place.path("jmh.json");
            List<String> line = new ArrayList<>(Microbenchmarks.command(bench.distribution()));
            line.addAll(List.of(pattern, "-foe", "true", "-rf", "json", "-rff", results.toString()));
            String iterations = Integer.toString(bench.times(5, 2));
            line.addAll(List.of("-wi", iterations, "-i", iterations));
            String _ = place.run(line);
            for (JsonNode one : JSON.readTree(Files.readString(results))) {
                String value = one.path("params").path(parameter).asText();
                bench.add(Objects.requireNonNull(figures.get(value), value), values(one));
            }
        }
    }

    /** By fork and iteration, pairs of a time and how often it was seen. */
    private static List<Double> values(JsonNode result) {
        List<Double> values = new ArrayList<>();
        for (JsonNode fork : result.at("/primaryMetric/rawDataHistogram")) {
            for (JsonNode iteration : fork) {
                for (JsonNode pair : iteration) {
                    for (int i = 0; i < pair.get(1).asInt(); i++) {
                        values.add(pair.get(0).asDouble());
                    }
                }
            }
        }
        return values;
    }
}
