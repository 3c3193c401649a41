package io.homeostat.e2e.bench;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** One run: what is measured, how often, and what came of it. */
final class Bench {
    private final Path distribution;
    private final boolean quick;
    private final boolean peers;
    private final Yardsticks yardsticks = new Yardsticks();
    private final List<Samples> samples = new ArrayList<>();
    private final List<Skipped> skipped = new ArrayList<>();
    private boolean failed;

    /**
     * @param distribution the built program
     * @param quick with fewer repetitions
     * @param peers whether others are measured, too
     */
    Bench(Path distribution, boolean quick, boolean peers) {
        this.distribution = distribution;
        this.quick = quick;
        this.peers = peers;
    }

    Path distribution() {
        return distribution;
    }

    boolean measuresPeers() {
        return peers;
    }

    Yardsticks yardsticks() {
        return yardsticks;
    }

    int times(int usually, int quickly) {
        return quick ? quickly : usually;
    }

    void add(Figure figure, List<Double> values) {
        add(figure, Samples.OURS, values);
    }

    void add(Figure figure, String subject, List<Double> values) {
        if (!values.isEmpty()) {
            samples.add(new Samples(figure, subject, values));
        }
    }

    void skip(String benchmark, String subject, String why) {
        Skipped one = new Skipped(benchmark, subject, why);
        if (!skipped.contains(one)) {
            skipped.add(one);
        }
    }

    /** What went wrong is printed whole, and noted as not measured. */
    void fail(String benchmark, Throwable problem) {
        System.err.println("bench: " + benchmark + " failed: " + problem);
        failed = true;
        skip(
                benchmark,
                Samples.OURS,
                "it failed: " + problem.toString().lines().findFirst().orElse(""));
    }

    boolean hasFailed() {
        return failed;
    }

    List<Samples> samples() {
        return Stream.concat(yardsticks.samples().stream(), samples.stream()).toList();
    }

    List<Skipped> skipped() {
        return skipped;
    }
}
