package io.homeostat.mutation;

import java.math.BigDecimal;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;
import org.jspecify.annotations.Nullable;

/**
 * Arguments of the program.
 *
 * @param count number of the arguments that come before the module and the packages
 * @param packages packages to mutate, each in a run of its own
 * @param root the checkout
 * @param output directory of the lists of survivors
 * @param tests test classes to run, by their full names; null selects those that use the package
 * @param without test classes that never run
 * @param slow tests that take longer without a mutation are not used
 * @param minimum lowest share of killed mutants, in percent, at which the run succeeds
 * @param limit time after which the run ends with the figures it has
 * @param threads mutants that are tested at the same time
 * @param only start of the names of the mutants to test; null tests all
 * @param jvmArguments arguments of the JVM that runs the tests, separated by blanks
 * @param verbose whether to show the log of PIT and the output of the tests
 */
record Options(
        int count,
        List<ModulePackage> packages,
        Path root,
        Path output,
        @Nullable Pattern tests,
        Pattern without,
        Duration slow,
        BigDecimal minimum,
        Duration limit,
        int threads,
        @Nullable String only,
        String jvmArguments,
        boolean verbose) {

    /** Tests of whole histories, of killed programs and of the architecture: slow, and no test of one package. */
    private static final String NOT_UNIT_TESTS = "\\.(ArchitectureTest|.*SimulationTest|PlantedBugTest|Killed.*Test)$";

    /** Packages that are mutated when none is named; {@code .*} stands for all packages below one. */
    private static final Map<String, List<String>> USUAL_PACKAGES = new TreeMap<>(Map.of(
            "desired-state",
            List.of("hcl", "hcl.*", "state", "state.*"),
            "reconciler",
            List.of("plan", "record", "loop", "runtime", "runtime.*", "agent.guest", "agent.nomad", "controlplane")));

    /** Arguments that are not valid; the message says why. */
    static final class UsageException extends Exception {
        private static final long serialVersionUID = 1;

        UsageException(String message) {
            super(message);
        }
    }

    /** Parses the arguments of the program for a checkout, whose modules are built. */
    static Options parse(Path root, String jvmArguments, List<String> arguments) throws UsageException {
        ArrayDeque<String> rest = new ArrayDeque<>(arguments);
        Pattern tests = null;
        String without = NOT_UNIT_TESTS;
        Duration slow = Duration.ofSeconds(10);
        BigDecimal minimum = BigDecimal.ZERO;
        Duration limit = Duration.ofMinutes(10);
        int threads = 1;
        String only = null;
        boolean verbose = false;
        while (!rest.isEmpty() && rest.getFirst().startsWith("--")) {
            String option = rest.removeFirst();
            try {
                switch (option) {
                    case "--tests" -> tests = Pattern.compile(value(option, rest));
                    case "--without" -> without = value(option, rest) + "|" + NOT_UNIT_TESTS;
                    case "--slow" -> slow = Duration.parse("PT" + value(option, rest));
                    case "--minimum" -> minimum = new BigDecimal(value(option, rest));
                    case "--limit" -> limit = Duration.parse("PT" + value(option, rest));
                    case "--threads" -> threads = Integer.parseInt(value(option, rest));
                    case "--only" -> only = value(option, rest);
                    case "--verbose" -> verbose = true;
                    default -> throw new UsageException(option + " is not an option");
                }
            } catch (IllegalArgumentException | java.time.format.DateTimeParseException e) {
                throw new UsageException("the value of " + option + " is not valid: " + e.getMessage());
            }
        }
        int count = arguments.size() - rest.size();
        List<ModulePackage> packages = new ArrayList<>();
        if (rest.isEmpty()) {
            for (Map.Entry<String, List<String>> usual : USUAL_PACKAGES.entrySet()) {
                packages.addAll(ModulePackage.find(root, usual.getKey(), usual.getValue()));
            }
        } else {
            packages.addAll(ModulePackage.find(root, rest.removeFirst(), rest));
        }
        Pattern excluded;
        try {
            excluded = Pattern.compile(without);
        } catch (PatternSyntaxException e) {
            throw new UsageException("the value of --without is not valid: " + e.getMessage());
        }
        return new Options(
                count,
                packages,
                root,
                root.resolve("target/mutants"),
                tests,
                excluded,
                slow,
                minimum,
                limit,
                threads,
                only,
                jvmArguments,
                verbose);
    }

    private static String value(String option, ArrayDeque<String> rest) throws UsageException {
        if (rest.isEmpty()) {
            throw new UsageException(option + " needs a value");
        }
        return rest.removeFirst();
    }
}
