package io.homeostat.e2e.bench;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;

/** Two builds in turns: A, B, A, B. A machine that is slower for a while is slower for both. */
final class Compare {
    private static final String ROW = "%-58s %9s %9s  %6s  %s";

    /** The medians of a figure, a pair a turn. */
    private final Map<Figure, List<Pair>> pairs = new EnumMap<>(Figure.class);

    /** @param first of the build that is compared with */
    record Pair(double first, double second) {
        double ratio() {
            return second / first;
        }
    }

    /** Measures; returns the table. */
    static List<String> run(Path first, Path second, List<Benchmark> benchmarks, int turns)
            throws IOException, InterruptedException {
        Compare compare = new Compare();
        for (Benchmark benchmark : benchmarks) {
            for (int turn = 0; turn < turns; turn++) {
                compare.add(measure(benchmark, first), measure(benchmark, second));
            }
        }
        return compare.table();
    }

    private static List<Samples> measure(Benchmark benchmark, Path distribution)
            throws IOException, InterruptedException {
        System.err.println("bench: " + benchmark.word() + " of " + distribution + " ...");
        Bench bench = new Bench(distribution, true, false);
        benchmark.measure(bench);
        if (bench.hasFailed()) {
            throw new IOException(benchmark.word() + " of " + distribution + " failed");
        }
        return bench.samples();
    }

    void add(List<Samples> first, List<Samples> second) {
        for (Samples one : first) {
            second.stream()
                    .filter(other -> other.figure() == one.figure())
                    .forEach(other -> pairs.computeIfAbsent(one.figure(), key -> new ArrayList<>())
                            .add(new Pair(one.of(Statistic.P50), other.of(Statistic.P50))));
        }
    }

    List<String> table() {
        List<String> lines = new ArrayList<>();
        lines.add(row("median of", "A", "B", "B / A", "each turn"));
        pairs.forEach((figure, all) -> lines.add(row(
                figure.title() + (figure.unit().isEmpty() ? "" : ", " + figure.unit()),
                Results.number(median(all.stream().map(Pair::first).toList())),
                Results.number(median(all.stream().map(Pair::second).toList())),
                ratio(median(all.stream().map(Pair::ratio).toList())),
                all.stream().map(pair -> ratio(pair.ratio())).collect(Collectors.joining(" ")))));
        return lines;
    }

    private static double median(List<Double> values) {
        return Statistic.P50.of(values);
    }

    private static String ratio(double value) {
        return String.format(Locale.ROOT, "%.2f", value);
    }

    private static String row(Object... columns) {
        return String.format(Locale.ROOT, ROW, columns);
    }
}
