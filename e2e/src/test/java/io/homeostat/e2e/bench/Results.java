package io.homeostat.e2e.bench;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.homeostat.e2e.bench.Figure.Limit;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/** What one run has measured, and what it could not; as JSON and as a table. */
record Results(Machine machine, boolean quick, List<Samples> samples, List<Skipped> skipped) {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int FORMAT = 1;
    private static final String ROW = "%-58s %-11s %4s %9s %9s %9s %9s  %s";

    Results {
        samples = List.copyOf(samples);
        skipped = List.copyOf(skipped);
    }

    List<Samples> of(Figure figure) {
        return samples.stream().filter(one -> one.figure() == figure).toList();
    }

    boolean breaksBound() {
        return samples.stream().anyMatch(Samples::breaksBound);
    }

    String json() throws IOException {
        ObjectNode root = JSON.createObjectNode();
        root.put("formatVersion", FORMAT).put("quick", quick).set("machine", JSON.valueToTree(machine));
        ArrayNode figures = root.putArray("figures");
        for (Samples one : samples) {
            ObjectNode node = figures.addObject()
                    .put("name", one.figure().name())
                    .put("benchmark", one.figure().benchmark())
                    .put("title", one.figure().title())
                    .put("unit", one.figure().unit())
                    .put("subject", one.subject())
                    .put("n", one.values().size());
            for (Statistic statistic : Statistic.values()) {
                node.put(statistic.name().toLowerCase(Locale.ROOT), one.of(statistic));
            }
            ArrayNode goals = node.putArray("goals");
            one.limits()
                    .forEach(limit -> goals.addObject()
                            .put("of", limit.of().name().toLowerCase(Locale.ROOT))
                            .put("most", limit.most())
                            .put("bound", limit.isBound())
                            .put("kept", one.keeps(limit)));
            ArrayNode values = node.putArray("values");
            one.values().forEach(values::add);
        }
        root.set("skipped", JSON.valueToTree(skipped));
        return JSON.writerWithDefaultPrettyPrinter().writeValueAsString(root) + "\n";
    }

    static Results read(Path file) throws IOException {
        JsonNode root = JSON.readTree(Files.readString(file));
        if (root.path("formatVersion").asInt() != FORMAT) {
            throw new IOException(file + " is not what e2e/bench --json of this version has written");
        }
        List<Samples> samples = new ArrayList<>();
        for (JsonNode node : root.get("figures")) {
            List<Double> values = new ArrayList<>();
            node.get("values").forEach(value -> values.add(value.asDouble()));
            samples.add(new Samples(
                    Figure.valueOf(node.get("name").asText()),
                    node.get("subject").asText(),
                    values));
        }
        List<Skipped> skipped = new ArrayList<>();
        for (JsonNode node : root.get("skipped")) {
            skipped.add(JSON.treeToValue(node, Skipped.class));
        }
        return new Results(
                JSON.treeToValue(root.get("machine"), Machine.class),
                root.get("quick").asBoolean(),
                samples,
                skipped);
    }

    /** For people, a figure a line, and a line for whatever was skipped. */
    List<String> table() {
        List<String> lines = new ArrayList<>();
        lines.add(row("figure", "of", "n", "p50", "p90", "p99", "max", "goal"));
        for (Samples one : samples) {
            lines.add(row(
                    one.figure().title()
                            + (one.figure().unit().isEmpty()
                                    ? ""
                                    : ", " + one.figure().unit()),
                    one.subject(),
                    Integer.toString(one.values().size()),
                    number(one.of(Statistic.P50)),
                    number(one.of(Statistic.P90)),
                    number(one.of(Statistic.P99)),
                    number(one.of(Statistic.MAX)),
                    goals(one)));
        }
        skipped.forEach(one -> lines.add("skipped: " + one.benchmark() + " of " + one.subject() + ": " + one.why()));
        return lines;
    }

    private static String row(Object... columns) {
        return String.format(Locale.ROOT, ROW, columns).stripTrailing();
    }

    /** {@code p50 <= 12 kept, max <= 60 MISSED}; empty when it has none. */
    static String goals(Samples samples) {
        return samples.limits().stream()
                .map(limit -> limit.of().name().toLowerCase(Locale.ROOT) + " <= " + number(limit.most()) + " "
                        + verdict(samples, limit))
                .collect(Collectors.joining(", "));
    }

    private static String verdict(Samples samples, Limit limit) {
        if (samples.keeps(limit)) {
            return "kept";
        }
        return limit.isBound() ? "BROKEN" : "missed";
    }

    /** With three digits that count. */
    static String number(double value) {
        if (value == Math.rint(value) || value >= 100) {
            return String.format(Locale.ROOT, "%,.0f", value);
        }
        return String.format(Locale.ROOT, value >= 10 ? "%.1f" : value >= 1 ? "%.2f" : "%.3f", value);
    }
}
