package io.homeostat.e2e.bench;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.homeostat.e2e.measure.Workplace;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** The planner of a build without anything around it, measured by JMH. */
final class PlannerAlone {
    private static final ObjectMapper JSON = new ObjectMapper();

    private PlannerAlone() {}

    static void measure(Bench bench) throws IOException, InterruptedException {
        if (!Microbenchmarks.areBuilt()) {
            bench.skip("planner", Samples.OURS, "e2e/jmh has not been built");
            return;
        }
        try (Workplace place = new Workplace()) {
            Path results = place.path("jmh.json");
            List<String> line = new ArrayList<>(Microbenchmarks.command(bench.distribution()));
            line.addAll(List.of("PlannerBenchmark", "-foe", "true", "-rf", "json", "-rff", results.toString()));
            line.addAll(List.of("-wi", bench.times(5, 2) + "", "-i", bench.times(5, 2) + "", "-f", "1"));
            String _ = place.run(line);
            for (JsonNode one : JSON.readTree(Files.readString(results))) {
                boolean converged = one.at("/params/state").asText().equals("converged");
                bench.add(converged ? Figure.PLANNER_CONVERGED : Figure.PLANNER_NEW, values(one));
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
