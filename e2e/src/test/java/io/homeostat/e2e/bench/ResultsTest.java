package io.homeostat.e2e.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.w3c.dom.Document;

/** What is made of measured values: verdicts, tables, JSON, the page with its charts, and comparisons. */
final class ResultsTest {
    private static final Machine MACHINE =
            new Machine("2026-11-24T16:00:00Z", "0123456789ab", "A CPU", 2, 24_000, "Linux 6", "25", "0.1 0.2 0.3");

    private static final Samples CRASH = ours(Figure.CRASH_EXEC, 10.0, 11.0, 70.0);
    private static final Samples RUNIT = new Samples(Figure.CRASH_EXEC, "runit", List.of(2.0, 2.5, 3.5));
    private static final Skipped S6 = new Skipped("crash", "s6", "s6-svscan is not in PATH");

    @TempDir
    private Path directory;

    private static Samples ours(Figure figure, Double... values) {
        return new Samples(figure, Samples.OURS, List.of(values));
    }

    private static Results results(Samples... samples) {
        return new Results(MACHINE, false, List.of(samples), List.of(S6));
    }

    @Test
    void eachFigureIsInABenchmarkThatCanBeChosenAndEachBenchmarkHasSome() {
        Set<String> words =
                Arrays.stream(Benchmark.values()).map(Benchmark::word).collect(Collectors.toSet());

        assertEquals(
                words,
                new HashSet<>(
                        Arrays.stream(Figure.values()).map(Figure::benchmark).toList()));
    }

    @Test
    void aMissedGoalIsSaidAndOnlyABrokenBoundIsAFailure() {
        assertEquals("p50 <= 12 kept, max <= 60 missed", Results.goals(CRASH));
        assertFalse(results(CRASH).breaksBound());

        assertEquals("p50 <= 1 BROKEN", Results.goals(ours(Figure.SECOND_APPLY, 1.5)));
        assertTrue(results(ours(Figure.SECOND_APPLY, 1.5)).breaksBound());
        assertFalse(results(ours(Figure.SECOND_APPLY, 1.0)).breaksBound());
    }

    @Test
    void whatCanNotHaveBeenMeasuredIsNoFigure() {
        assertThrows(IllegalArgumentException.class, () -> ours(Figure.INSTALL_1_GB, 0.9, -1.4));
        assertThrows(IllegalArgumentException.class, () -> ours(Figure.INSTALL_1_GB, Double.NaN));
        assertThrows(IllegalArgumentException.class, () -> ours(Figure.INSTALL_1_GB, Double.POSITIVE_INFINITY));
    }

    @Tag("nightly")
    @Test
    void theMachineIsMeasuredBeforeEachBenchmark() throws Exception {
        Bench bench = new Bench(directory, true, false);
        assertEquals(List.of(), bench.samples());

        Benchmark.MACHINE.measure(bench);
        Benchmark.MACHINE.measure(bench);

        assertFalse(bench.hasFailed());
        assertEquals(
                List.of("machine: 6", "machine: 40"),
                bench.samples().stream()
                        .map(one -> one.figure().benchmark() + ": "
                                + one.values().stream()
                                        .filter(value -> value > 0)
                                        .count())
                        .toList());
    }

    @Test
    void peersHaveNoGoals() {
        assertEquals("", Results.goals(RUNIT));
        assertFalse(new Samples(Figure.SECOND_APPLY, "other", List.of(9.0)).breaksBound());
    }

    @Test
    void theTableHasALineForEachThatWasMeasuredAndForEachThatWasNot() {
        List<String> table = results(CRASH, RUNIT).table();

        assertEquals(
                List.of(
                        "figure of n p50 p90 p99 max goal",
                        "process killed -> exec again, ms homeostat 3 11 70 70 70 p50 <= 12 kept, max <= 60 missed",
                        "process killed -> exec again, ms runit 3 2.50 3.50 3.50 3.50",
                        "skipped: crash of s6: s6-svscan is not in PATH"),
                table.stream().map(line -> line.replaceAll(" +", " ")).toList());
    }

    @Test
    void whatIsWrittenAsJsonIsReadAgain() throws Exception {
        Results written = results(CRASH, RUNIT);
        Path file = Files.writeString(directory.resolve("r.json"), written.json());

        assertEquals(written, Results.read(file));
    }

    @Test
    void otherJsonIsRefused() throws Exception {
        Path file = Files.writeString(directory.resolve("r.json"), "{}");

        assertThrows(IOException.class, () -> Results.read(file));
    }

    @Test
    void thePageHasAllFiguresAndAChartOfEachBenchmarkThatWasMeasured() throws Exception {
        Files.createDirectory(directory.resolve("benchmarks"));
        Files.writeString(directory.resolve("benchmarks/idle.svg"), "of a former run");

        Report.write(results(CRASH, RUNIT), directory);

        String page = Files.readString(directory.resolve("benchmarks.md"));
        assertTrue(page.contains("A CPU, 2 cores, 24,000 MiB of memory, Linux 6, Java 25."), page);
        assertTrue(page.contains("commit 0123456789ab, load before: 0.1 0.2 0.3."), page);
        assertTrue(page.contains("![crash](benchmarks/crash.svg)"), page);
        assertTrue(
                page.contains("| process killed -> exec again, ms | homeostat | 3 | 11 | 70 | 70 | 70 |"
                        + " p50 ≤ 12 kept, max ≤ 60 missed |"),
                page);
        assertTrue(page.contains("- crash of s6: s6-svscan is not in PATH"), page);
        assertFalse(Files.exists(directory.resolve("benchmarks/idle.svg")));
    }

    @Test
    void aChartIsWellFormedHasABarForEachAndIsMadeForLightAndDark() throws Exception {
        String chart = Chart.of(List.of(List.of(CRASH, RUNIT), List.of(ours(Figure.FILE_EXEC, 0.0))));

        Document document = DocumentBuilderFactory.newDefaultInstance()
                .newDocumentBuilder()
                .parse(Files.writeString(directory.resolve("c.svg"), chart).toFile());
        assertEquals(3, document.getElementsByTagName("rect").getLength());
        assertTrue(chart.contains("prefers-color-scheme: dark"));
        assertTrue(chart.contains("process killed -&gt; exec again"));
    }

    @Test
    void aComparisonIsTheMedianOfTheRatiosOfEachTurn() {
        Compare compare = new Compare();
        compare.add(List.of(ours(Figure.CRASH_EXEC, 10.0)), List.of(ours(Figure.CRASH_EXEC, 5.0)));
        compare.add(List.of(ours(Figure.CRASH_EXEC, 40.0)), List.of(ours(Figure.CRASH_EXEC, 30.0)));
        compare.add(List.of(ours(Figure.CRASH_EXEC, 10.0)), List.of(ours(Figure.CRASH_EXEC, 9.0)));

        assertEquals(
                List.of("median of A B B / A each turn", "process killed -> exec again, ms 10 9 0.75 0.50 0.75 0.90"),
                compare.table().stream().map(line -> line.replaceAll(" +", " ")).toList());
    }
}
