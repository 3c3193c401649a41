package io.homeostat.e2e.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/** One run as a page of documentation, with a chart for each benchmark. */
final class Report {
    private static final String CHARTS = "benchmarks";

    private Report() {}

    /** Writes {@code benchmarks.md} and the charts, which take the place of those that are there. */
    static void write(Results results, Path directory) throws IOException {
        Path charts = Files.createDirectories(directory.resolve(CHARTS));
        for (Benchmark benchmark : Benchmark.values()) {
            Path chart = charts.resolve(benchmark.word() + ".svg");
            List<List<Samples>> figures = figures(results, benchmark);
            if (figures.isEmpty()) {
                Files.deleteIfExists(chart);
            } else {
                Files.writeString(chart, Chart.of(figures));
            }
        }
        Files.writeString(directory.resolve("benchmarks.md"), page(results));
    }

    private static List<List<Samples>> figures(Results results, Benchmark benchmark) {
        return benchmark.figures().stream()
                .map(results::of)
                .filter(samples -> !samples.isEmpty())
                .toList();
    }

    static String page(Results results) {
        List<String> lines = new ArrayList<>();
        Machine machine = results.machine();
        lines.add("# Benchmarks");
        lines.add("");
        lines.add(
                "Written by `e2e/bench report`; [e2e/README.md](../e2e/README.md#benchmarks) says how each figure is measured.");
        lines.add("");
        lines.add(String.format(
                Locale.ROOT,
                "%s, %d cores, %,d MiB of memory, %s, Java %s. %s, commit %s, load before: %s.%s",
                machine.processor(),
                machine.cores(),
                machine.memoryMebibytes(),
                machine.kernel(),
                machine.java(),
                machine.date(),
                machine.commit(),
                machine.load(),
                results.quick() ? " A quick run, with few repetitions." : ""));
        lines.add("");
        lines.add(
                "In the charts a bar is the median, the thin line reaches to p99, and the red stroke is the goal for the median.");
        for (Benchmark benchmark : Benchmark.values()) {
            List<List<Samples>> figures = figures(results, benchmark);
            if (figures.isEmpty()) {
                continue;
            }
            lines.add("");
            lines.add("## " + benchmark.word());
            lines.add("");
            lines.add("![" + benchmark.word() + "](" + CHARTS + "/" + benchmark.word() + ".svg)");
            lines.add("");
            lines.add("| figure | of | n | p50 | p90 | p99 | max | goal |");
            lines.add("|---|---|---|---|---|---|---|---|");
            figures.forEach(figure -> figure.forEach(one -> lines.add(row(one))));
        }
        if (!results.skipped().isEmpty()) {
            lines.add("");
            lines.add("## Not measured");
            lines.add("");
            results.skipped()
                    .forEach(one -> lines.add("- " + one.benchmark() + " of " + one.subject() + ": " + one.why()));
        }
        return String.join("\n", lines) + "\n";
    }

    private static String row(Samples one) {
        List<String> cells = new ArrayList<>(List.of(
                one.figure().title()
                        + (one.figure().unit().isEmpty()
                                ? ""
                                : ", " + one.figure().unit()),
                one.subject(),
                Integer.toString(one.values().size())));
        Arrays.stream(Statistic.values())
                .map(statistic -> Results.number(one.of(statistic)))
                .forEach(cells::add);
        cells.add(Results.goals(one));
        return "| " + String.join(" | ", cells).replace("<=", "≤") + " |";
    }
}
