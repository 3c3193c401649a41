package io.homeostat.e2e.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;

/** Runs the benchmarks that are named, or all, and exits with 1 when one breaks its bound. */
public final class Benchmarks {
    private static final Set<String> NAMES = Set.of("apply", "plan", "install");

    private Benchmarks() {}

    /**
     * One measured thing.
     *
     * @param value in the unit of the bound
     * @param detail how the value came about
     */
    record Measured(String name, double value, double bound, String unit, String detail) {
        boolean isKept() {
            return value <= bound;
        }

        String line() {
            return String.format(
                    Locale.ROOT,
                    "%-46s %6.2f %-2s  bound %4.1f %-2s  %-6s  %s",
                    name,
                    value,
                    unit,
                    bound,
                    unit,
                    isKept() ? "kept" : "BROKEN",
                    detail);
        }
    }

    /** See README.md for the arguments. */
    public static void main(String[] arguments) throws IOException, InterruptedException {
        List<String> wanted = arguments.length == 0 ? List.of("apply", "plan", "install") : List.of(arguments);
        if (!NAMES.containsAll(wanted)) {
            System.err.println("bench: choose from apply, plan, install; without arguments all are run");
            System.exit(64);
        }
        // The bounds are those of a machine that does nothing else.
        System.out.printf(
                "%d processors, load average before: %s%n",
                Runtime.getRuntime().availableProcessors(),
                Files.readString(Path.of("/proc/loadavg")).strip());
        List<Measured> results = new ArrayList<>();
        for (String name : wanted) {
            System.err.println("bench: " + name + " ...");
            try (Program program = new Program(Path.of(System.getProperty("homeostat.dist")))) {
                switch (name) {
                    case "apply" ->
                        results.add(SecondApply.measure(program, Path.of(System.getProperty("homeostat.greeter"))));
                    case "plan" -> results.addAll(ManyDocuments.measure(program));
                    default -> results.add(LargeArchive.measure(program));
                }
            }
        }
        results.forEach(result -> System.out.println(result.line()));
        System.exit(results.stream().allMatch(Measured::isKept) ? 0 : 1);
    }

    static double median(List<Double> values) {
        List<Double> sorted = values.stream().sorted().toList();
        int middle = sorted.size() / 2;
        return sorted.size() % 2 == 1 ? sorted.get(middle) : (sorted.get(middle - 1) + sorted.get(middle)) / 2;
    }

    /** For people: {@code 0.41 0.43 0.52}. */
    static String list(List<Double> values) {
        return values.stream()
                .map(value -> String.format(Locale.ROOT, "%.2f", value))
                .reduce((a, b) -> a + " " + b)
                .orElse("");
    }
}
