package io.homeostat.e2e.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Optional;

/** The command {@code e2e/bench}. */
public final class Benchmarks {
    private static final int USAGE = 64;
    private static final int TURNS = 3;

    private boolean quick;
    private boolean peers = true;
    private int turns = TURNS;
    private Optional<Path> json = Optional.empty();
    private final List<String> words = new ArrayList<>();

    private Benchmarks() {}

    /** A mistake in the call. */
    private static final class UsageException extends Exception {
        private static final long serialVersionUID = 1;

        UsageException(String message) {
            super(message);
        }
    }

    /** See README.md for the arguments. */
    public static void main(String[] arguments) throws IOException, InterruptedException {
        int exit;
        try {
            exit = new Benchmarks().run(arguments);
        } catch (UsageException e) {
            System.err.println("bench: " + e.getMessage());
            exit = USAGE;
        }
        System.exit(exit);
    }

    private int run(String[] arguments) throws UsageException, IOException, InterruptedException {
        List<String> all = List.of(arguments);
        if (!all.isEmpty() && all.getFirst().equals("jmh")) {
            return Microbenchmarks.run(distribution(), all.subList(1, all.size()));
        }
        read(new ArrayDeque<>(all));
        return switch (words.isEmpty() ? "" : words.getFirst()) {
            case "list" -> list();
            case "report" -> report();
            case "compare" -> compare();
            default -> measure();
        };
    }

    private void read(Deque<String> arguments) throws UsageException {
        while (!arguments.isEmpty()) {
            String word = arguments.removeFirst();
            switch (word) {
                case "--quick" -> quick = true;
                case "--no-peers" -> peers = false;
                case "--json" -> json = Optional.of(Path.of(value(word, arguments)));
                case "--turns" -> turns = Integer.parseInt(value(word, arguments));
                default -> {
                    if (word.startsWith("-")) {
                        throw new UsageException("unknown option " + word);
                    }
                    words.add(word);
                }
            }
        }
    }

    private static String value(String option, Deque<String> arguments) throws UsageException {
        if (arguments.isEmpty()) {
            throw new UsageException(option + " wants a value");
        }
        return arguments.removeFirst();
    }

    private static Path distribution() {
        return Path.of(System.getProperty("homeostat.dist"));
    }

    private static int list() {
        for (Benchmark benchmark : Benchmark.values()) {
            System.out.println(benchmark.word());
            benchmark.figures().forEach(figure -> System.out.println("    " + figure.title()));
        }
        return 0;
    }

    private int report() throws UsageException, IOException {
        if (words.size() != 2 && words.size() != 3) {
            throw new UsageException("report FILE.json [DIRECTORY]");
        }
        Path directory = words.size() == 3 ? Path.of(words.get(2)) : Path.of("docs");
        Report.write(Results.read(Path.of(words.get(1))), directory);
        return 0;
    }

    private int compare() throws UsageException, IOException, InterruptedException {
        if (words.size() < 3) {
            throw new UsageException("compare DIST_A DIST_B [NAME...], each such as reconciler/target/homeostat");
        }
        List<Path> distributions = words.subList(1, 3).stream()
                .map(word -> Path.of(word).toAbsolutePath())
                .toList();
        for (Path distribution : distributions) {
            if (!Files.isExecutable(distribution.resolve("bin/homeostat"))) {
                throw new UsageException(distribution + " is no built program: there is no bin/homeostat");
            }
        }
        Compare.run(distributions.getFirst(), distributions.getLast(), chosen(words.subList(3, words.size())), turns)
                .forEach(System.out::println);
        return 0;
    }

    private int measure() throws UsageException, IOException, InterruptedException {
        List<Benchmark> chosen = chosen(words);
        // The goals are those of a machine that does nothing else.
        Machine machine = Machine.here();
        System.out.printf(
                "%s, %d cores, %d MiB, %s, Java %s%n%s, commit %s, load before: %s%n",
                machine.processor(),
                machine.cores(),
                machine.memoryMebibytes(),
                machine.kernel(),
                machine.java(),
                machine.date(),
                machine.commit(),
                machine.load());
        Bench bench = new Bench(distribution(), quick, peers);
        for (Benchmark benchmark : chosen) {
            System.err.println("bench: " + benchmark.word() + " ...");
            benchmark.measure(bench);
        }
        Results results = new Results(machine, quick, bench.samples(), bench.skipped());
        results.table().forEach(System.out::println);
        if (json.isPresent()) {
            Files.writeString(json.get(), results.json());
        }
        return results.breaksBound() || bench.hasFailed() ? 1 : 0;
    }

    private static List<Benchmark> chosen(List<String> names) throws UsageException {
        List<Benchmark> chosen = new ArrayList<>();
        for (String name : names) {
            chosen.add(Arrays.stream(Benchmark.values())
                    .filter(benchmark -> benchmark.word().equals(name))
                    .findFirst()
                    .orElseThrow(() -> new UsageException("there is no '" + name
                            + "'; choose from what `e2e/bench list` prints, without names all are run")));
        }
        return names.isEmpty() ? List.of(Benchmark.values()) : chosen;
    }
}
