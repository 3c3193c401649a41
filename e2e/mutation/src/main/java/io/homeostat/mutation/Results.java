package io.homeostat.mutation;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Properties;
import org.pitest.mutationtest.ClassMutationResults;
import org.pitest.mutationtest.DetectionStatus;
import org.pitest.mutationtest.ListenerArguments;
import org.pitest.mutationtest.MutationResult;
import org.pitest.mutationtest.MutationResultListener;
import org.pitest.mutationtest.MutationResultListenerFactory;

/** Outcomes of the mutants so far. They arrive class by class, so that a run that is cut short has some, too. */
final class Results implements MutationResultListenerFactory, MutationResultListener {

    /** Name by which PIT is told to use this listener. */
    static final String NAME = "HOMEOSTAT";

    private final MutantNames names;
    private final Path survivors;
    private final List<MutationResult> results = new ArrayList<>();

    /** Creates results that keep a list of the survivors in a file. */
    Results(MutantNames names, Path survivors) {
        this.names = names;
        this.survivors = survivors;
    }

    Path survivors() {
        return survivors;
    }

    @Override
    public synchronized void handleMutationResult(ClassMutationResults ofClass) {
        results.addAll(ofClass.getMutations());
        writeSurvivors();
    }

    synchronized int mutants() {
        return results.size();
    }

    synchronized int killed() {
        return (int) results.stream().filter(Results::isKilled).count();
    }

    /** Returns the number of killed mutants with which a test did not end in time; on a busy machine some may be wrong. */
    synchronized int timedOut() {
        return count(DetectionStatus.TIMED_OUT);
    }

    /** Returns the number of survivors in code that no test runs. */
    synchronized int withoutTest() {
        return count(DetectionStatus.NO_COVERAGE);
    }

    private int count(DetectionStatus status) {
        return (int)
                results.stream().filter(result -> result.getStatus() == status).count();
    }

    /** Returns the share of killed mutants in percent, rounded down to one decimal: 100 means all. */
    synchronized BigDecimal percent() {
        return mutants() == 0
                ? new BigDecimal("100.0")
                : BigDecimal.valueOf(100L * killed()).divide(BigDecimal.valueOf(mutants()), 1, RoundingMode.DOWN);
    }

    synchronized boolean reach(BigDecimal minimumPercent) {
        return percent().compareTo(minimumPercent) >= 0;
    }

    /** Writes a line for each mutant that survived so far, in the order of files and lines. */
    private void writeSurvivors() {
        try {
            Files.write(
                    survivors,
                    ordered().stream()
                            .filter(result -> !isKilled(result))
                            .map(this::describe)
                            .toList());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Describes each mutant with its outcome and with the test that killed it. */
    synchronized List<String> describeAll() {
        return ordered().stream()
                .map(result -> "%s  %s%s"
                        .formatted(
                                isKilled(result) ? "killed  " : "survived",
                                describe(result),
                                result.getKillingTest()
                                        .map(test -> "  killed by " + TestNames.shorten(test))
                                        .orElse(isKilled(result) ? "  " + result.getStatus() : "")))
                .toList();
    }

    private List<MutationResult> ordered() {
        return results.stream()
                .sorted(Comparator.comparing(
                                (MutationResult result) -> result.getDetails().getFilename())
                        .thenComparingInt(result -> result.getDetails().getLineNumber())
                        .thenComparing(result -> names.of(result.getDetails())))
                .toList();
    }

    private String describe(MutationResult result) {
        int tests = result.getDetails().getTestsInOrder().size();
        return "%s  %s: %s  (%s)"
                .formatted(
                        names.of(result.getDetails()),
                        result.getDetails().getMethod(),
                        result.getDetails().getDescription(),
                        tests == 0
                                ? "no test runs this line"
                                : tests == 1 ? "1 test runs this line" : tests + " tests run this line");
    }

    private static boolean isKilled(MutationResult result) {
        return result.getStatus().isDetected();
    }

    @Override
    public MutationResultListener getListener(Properties properties, ListenerArguments arguments) {
        return this;
    }

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public String description() {
        return "Outcomes of mutants";
    }

    @Override
    public void runStart() {}

    @Override
    public void runEnd() {}
}
