package io.homeostat.mutation;

import java.io.File;
import java.io.IOException;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.logging.Level;
import java.util.stream.Stream;
import org.pitest.mutationtest.config.PluginServices;
import org.pitest.mutationtest.config.ReportOptions;
import org.pitest.mutationtest.config.Services;
import org.pitest.mutationtest.config.ServicesFromClassLoader;
import org.pitest.mutationtest.tooling.AnalysisResult;
import org.pitest.mutationtest.tooling.EntryPoint;
import org.pitest.testapi.TestGroupConfig;
import org.pitest.util.Log;
import org.pitest.util.Verbosity;

/**
 * Mutates the classes of packages, one change at a time, and prints how many of the changes the unit tests of the same module notice.
 * Exits with 0 when they notice enough, 1 when not or when a run failed, 64 when the arguments are not valid.
 */
public final class Mutants {

    /** Time that a test may take longer with a mutant than without, so that a busy machine does not kill mutants. */
    private static final Duration TIMEOUT = Duration.ofSeconds(10);

    private final ModulePackage subject;
    private final Options options;
    private final MutantNames names;
    private final UsableTests tests;
    private final Results results;

    Mutants(ModulePackage subject, Options options) {
        this.subject = subject;
        this.options = options;
        names = new MutantNames(options.only());
        tests = new UsableTests(options.slow());
        results = new Results(
                names,
                options.output()
                        .resolve(subject.moduleName() + "." + subject.name()
                                + (options.only() == null ? ".txt" : ".only.txt")));
    }

    /** Takes the options, then a module and packages of it. Without a module it takes the usual packages. */
    public static void main(String[] arguments) throws IOException, InterruptedException {
        int status = 0;
        try {
            Options options = Options.parse(
                    Path.of(System.getProperty("mutants.root")), System.getProperty("mutants.jvm"), List.of(arguments));
            if (options.packages().size() == 1) {
                status = new Mutants(options.packages().getFirst(), options).run(System.out, System.err);
            } else {
                List<String> given = List.of(arguments).subList(0, options.count());
                for (ModulePackage each : options.packages()) {
                    status = Math.max(status, runAlone(each, given));
                }
            }
        } catch (Options.UsageException e) {
            System.err.println("mutants: " + e.getMessage());
            status = 64;
        }
        System.out.flush();
        // A run that gave up leaves a thread of PIT and the JVM of the tests behind.
        ProcessHandle.current().descendants().forEach(ProcessHandle::destroyForcibly);
        Runtime.getRuntime().halt(status);
    }

    /** Mutates one of several packages in a JVM of its own: a run that gave up cannot be stopped otherwise. */
    private static int runAlone(ModulePackage subject, List<String> options) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin/java").toString());
        command.addAll(ManagementFactory.getRuntimeMXBean().getInputArguments());
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), Mutants.class.getName()));
        command.addAll(options);
        command.addAll(List.of(subject.moduleName(), subject.name()));
        return new ProcessBuilder(command).inheritIO().start().waitFor();
    }

    /** Mutates the package and prints its line; returns the exit status. */
    int run(PrintStream out, PrintStream err) throws IOException, InterruptedException {
        Selection selection = Selection.of(subject, options);
        String title = subject.moduleName() + " " + subject.name();
        if (selection.tests().isEmpty()) {
            out.println(title + ": no figure, as no test class is selected");
            return 1;
        }
        Files.createDirectories(options.output());
        Files.deleteIfExists(results.survivors());
        long start = System.nanoTime();
        String failure = "";
        try {
            AnalysisResult analysis = start(selection).get(options.limit().toMillis(), TimeUnit.MILLISECONDS);
            Optional<Exception> error = analysis.getError();
            if (error.isPresent()) {
                failure = error.get().toString();
            }
        } catch (TimeoutException e) {
            failure = "gave up after %d s, %d of %d mutants tested"
                    .formatted(options.limit().toSeconds(), results.mutants(), names.size());
        } catch (ExecutionException e) {
            failure = String.valueOf(e.getCause());
        }
        Duration taken = Duration.ofNanos(System.nanoTime() - start);

        tests.failedTests().forEach(test -> err.println("fails without a mutation, not used: " + test));
        tests.slowTests().forEach(test -> err.println("slow, not used: " + test));
        if (options.only() != null) {
            results.describeAll().forEach(out::println);
            if (failure.isEmpty() && results.mutants() == 0) {
                failure = "no mutant of this name: " + options.only();
            }
        }
        if (!failure.isEmpty() && results.mutants() == 0) {
            out.println(title + ": no figure; " + failure);
            return 1;
        }
        int survived = results.mutants() - results.killed();
        out.printf(
                "%s: %d mutants, %d killed (%s %%, %d by timeout), %d survived (%d in code that no test runs); %d tests of %d classes, %d s; %s%s%n",
                title,
                results.mutants(),
                results.killed(),
                results.percent(),
                results.timedOut(),
                survived,
                results.withoutTest(),
                tests.count(),
                selection.tests().size(),
                taken.toSeconds(),
                options.root().relativize(results.survivors()),
                failure.isEmpty() ? "" : "; " + failure);
        boolean enough = options.only() == null ? results.reach(options.minimum()) : survived == 0;
        return failure.isEmpty() && enough ? 0 : 1;
    }

    private CompletableFuture<AnalysisResult> start(Selection selection) throws IOException {
        File base = subject.module().toFile();
        ReportOptions pit = pitOptions(selection);
        CompletableFuture<AnalysisResult> result = new CompletableFuture<>();
        Thread.ofPlatform().daemon().name("pit").start(() -> {
            try {
                result.complete(new EntryPoint().execute(base, pit, new PluginServices(services()), Map.of()));
            } catch (RuntimeException | Error e) {
                result.completeExceptionally(e);
            }
        });
        return result;
    }

    private ReportOptions pitOptions(Selection selection) throws IOException {
        List<String> classPath = new ArrayList<>();
        classPath.add(subject.testClasses().toString());
        classPath.add(subject.classes().toString());
        Path dependencies = subject.module().resolve("tests/target/mutants.classpath");
        Stream.of(Files.readString(dependencies, StandardCharsets.UTF_8).strip().split(File.pathSeparator))
                .forEach(classPath::add);
        Stream.of(System.getProperty("java.class.path").split(File.pathSeparator))
                .forEach(classPath::add);

        ReportOptions pit = new ReportOptions();
        pit.setVerbosity(options.verbose() ? Verbosity.VERBOSE_NO_SPINNER : Verbosity.SILENT);
        // It warns that its plugin for JUnit is missing, which JUnitTests replaces.
        Log.getLogger()
                .setFilter(message -> options.verbose() || message.getLevel().intValue() > Level.WARNING.intValue());
        pit.setProjectBase(subject.module());
        pit.setReportDir(options.output().resolve("pit").toString());
        pit.setShouldCreateTimestampedReports(false);
        pit.setClassPathElements(classPath);
        pit.setIncludeLaunchClasspath(false);
        pit.setCodePaths(List.of(subject.classes().toString()));
        pit.setSourceDirs(List.of(subject.module().resolve("src/main/java")));
        pit.setTargetClasses(selection.classes());
        pit.setTargetTests(List.of(selection.tests()::contains));
        pit.setGroupConfig(new TestGroupConfig());
        pit.setMutators(List.of());
        pit.setFeatures(List.of());
        pit.setLoggingClasses(ReportOptions.LOGGING_CLASSES);
        pit.setSkipFailingTests(true);
        pit.setNumberOfThreads(options.threads());
        pit.setExcludedRunners(List.of());
        pit.addOutputFormats(List.of(Results.NAME));
        pit.setTimeoutConstant(TIMEOUT.toMillis());
        pit.addChildJVMArgs(List.of("-Djava.io.tmpdir=" + System.getProperty("java.io.tmpdir")));
        pit.addChildJVMArgs(Stream.of(options.jvmArguments().split(" "))
                .filter(argument -> !argument.isBlank())
                .toList());
        return pit;
    }

    /** Plugins of PIT, and those of this program. */
    private Services services() {
        Services found = new ServicesFromClassLoader(Mutants.class.getClassLoader());
        return new Services() {
            @Override
            public <S> Collection<S> load(Class<S> type) {
                List<S> plugins = new ArrayList<>(found.load(type));
                for (Object own : List.of(names, tests, results)) {
                    if (type.isInstance(own)) {
                        plugins.add(type.cast(own));
                    }
                }
                return plugins;
            }
        };
    }
}
