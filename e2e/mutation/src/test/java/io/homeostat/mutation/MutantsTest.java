package io.homeostat.mutation;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class MutantsTest {

    @TempDir
    Path checkout;

    /** A module with one package, whose test checks one of two methods, with a condition each. */
    @BeforeEach
    void buildAModule() throws IOException {
        compile("target/classes", "plan/Limit.java", """
                package io.homeostat.sample.plan;

                public class Limit {
                    public static boolean isTested(int value) {
                        return value > 7;
                    }

                    public static boolean isUntested(int value) {
                        return value > 7;
                    }
                }
                """);
        compile("tests/target/test-classes", "plan/LimitTest.java", """
                package io.homeostat.sample.plan;

                import static org.junit.jupiter.api.Assertions.assertFalse;
                import static org.junit.jupiter.api.Assertions.assertTrue;

                import org.junit.jupiter.api.Test;
                import org.junit.jupiter.params.ParameterizedTest;
                import org.junit.jupiter.params.provider.ValueSource;

                class LimitTest {
                    @Test
                    void isAbove() {
                        assertTrue(Limit.isTested(8));
                    }

                    @ParameterizedTest
                    @ValueSource(ints = {0, 7})
                    void isNotAbove(int value) {
                        assertFalse(Limit.isTested(value));
                    }
                }
                """);
        Files.writeString(checkout.resolve("module/tests/target/mutants.classpath"), System.getProperty("java.class.path"));
    }

    @Test
    void mutantsSurviveWhereNoTestChecks() throws Exception {
        Run run = run("--minimum", "50", "module", "plan");

        assertEquals(0, run.status);
        assertTrue(run.output.contains("6 mutants, 3 killed (50.0 %"), run.output);
        List<String> survivors = Files.readAllLines(checkout.resolve("target/mutants/module.plan.txt"));
        assertEquals(
                List.of(
                        "Limit.java:9:BooleanTrueReturnVals",
                        "Limit.java:9:ConditionalsBoundary",
                        "Limit.java:9:NegateConditionals"),
                survivors.stream().map(line -> line.replaceFirst(" .*", "")).toList());
    }

    @Test
    void aMissedMinimumIsAFailure() throws Exception {
        assertEquals(1, run("--minimum", "50.1", "module", "plan").status);
    }

    @Test
    void oneMutantCanBeTestedAlone() throws Exception {
        Run run = run("--only", "Limit.java:5:ConditionalsBoundary", "module", "plan");

        assertEquals(0, run.status);
        assertTrue(run.output.contains("killed by LimitTest.isNotAbove(int)"), run.output);
        assertTrue(run.output.contains("1 mutants, 1 killed"), run.output);
    }

    @Test
    void aSurvivorThatWasAskedForIsAFailure() throws Exception {
        assertEquals(1, run("--only", "Limit.java:9", "module", "plan").status);
    }

    @Test
    void packagesBelowOneAreFound() throws Exception {
        compile("target/classes", "runtime/task/Task.java", "package io.homeostat.sample.runtime.task; class Task {}");
        compile("target/classes", "runtime/kata/Guest.java", "package io.homeostat.sample.runtime.kata; class Guest {}");

        assertEquals(
                List.of("runtime.kata", "runtime.task"),
                parse("module", "runtime.*").packages().stream()
                        .map(ModulePackage::name)
                        .toList());
    }

    @Test
    void aPackageThatDoesNotExistIsAnError() {
        assertThrows(Options.UsageException.class, () -> parse("module", "plans"));
    }

    private void compile(String target, String file, String source) throws IOException {
        Path sources = checkout.resolve("module/src/io/homeostat/sample").resolve(file);
        Files.createDirectories(sources.getParent());
        Files.writeString(sources, source);
        Path classes = checkout.resolve("module").resolve(target);
        Files.createDirectories(classes);
        int status = ToolProvider.getSystemJavaCompiler()
                .run(
                        null,
                        OutputStream.nullOutputStream(),
                        null,
                        "-g",
                        "-proc:none",
                        "-d",
                        classes.toString(),
                        "-cp",
                        checkout.resolve("module/target/classes") + ":" + System.getProperty("java.class.path"),
                        sources.toString());
        assertEquals(0, status);
    }

    private Options parse(String... arguments) throws Options.UsageException {
        return Options.parse(checkout, "-XX:+UseSerialGC -XX:TieredStopAtLevel=1", List.of(arguments));
    }

    private Run run(String... arguments) throws Exception {
        Options options = parse(arguments);
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        int status;
        try (PrintStream printed = new PrintStream(out, true, StandardCharsets.UTF_8)) {
            status = new Mutants(options.packages().getFirst(), options).run(printed, printed);
        }
        return new Run(status, out.toString(StandardCharsets.UTF_8));
    }

    private record Run(int status, String output) {}
}
