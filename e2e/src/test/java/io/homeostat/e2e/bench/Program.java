package io.homeostat.e2e.bench;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** The built program with a state directory of its own, which goes with it. */
final class Program implements AutoCloseable {
    private static final double NANOS_PER_SECOND = 1e9;
    private static final int PATIENCE_SECONDS = 300;

    private final Path program;
    private final Path root;
    private List<String> applied = List.of();

    Program(Path distribution) throws IOException {
        program = distribution.resolve("bin").resolve("homeostat");
        root = Files.createTempDirectory("hsb");
    }

    Path root() {
        return root;
    }

    /** What {@link #close} has to remove. */
    void applied(List<String> workloads) {
        applied = workloads;
    }

    /** Runs a command of the program that has to succeed and to say something; returns the seconds it took. */
    double seconds(String expected, String... arguments) throws IOException, InterruptedException {
        List<String> line = new ArrayList<>(List.of(program.toString()));
        line.addAll(Arrays.asList(arguments));
        line.addAll(List.of(
                "--state-dir",
                root.resolve("s").toString(),
                "--run-dir",
                root.resolve("r").toString()));
        return seconds(expected, line);
    }

    /** Runs any command that has to succeed. */
    double seconds(String expected, List<String> line) throws IOException, InterruptedException {
        Path out = root.resolve("out");
        long start = System.nanoTime();
        Process process = new ProcessBuilder(line)
                .redirectInput(Path.of("/dev/null").toFile())
                .redirectErrorStream(true)
                .redirectOutput(out.toFile())
                .start();
        if (!process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
            process.destroyForcibly().waitFor();
            throw new IOException(line + " takes too long: " + text(out));
        }
        double seconds = (System.nanoTime() - start) / NANOS_PER_SECOND;
        if (process.exitValue() != 0 || !text(out).contains(expected)) {
            throw new IOException(line + " exited with " + process.exitValue() + " and said: " + text(out));
        }
        return seconds;
    }

    private static String text(Path file) throws IOException {
        return Files.readString(file, StandardCharsets.UTF_8);
    }

    /** Writes what is to be written before something is measured, so that it is not measured. */
    void settleDisk() throws IOException, InterruptedException {
        seconds("", List.of("sync"));
    }

    /** Takes all workloads away, and their state. */
    void reset() throws IOException, InterruptedException {
        if (!applied.isEmpty()) {
            List<String> line = new ArrayList<>(List.of("delete"));
            line.addAll(applied);
            seconds("removed", line.toArray(String[]::new));
            applied = List.of();
        }
        delete(root.resolve("s"));
        delete(root.resolve("r"));
    }

    static void delete(Path tree) throws IOException {
        if (Files.notExists(tree)) {
            return;
        }
        try (Stream<Path> files = Files.walk(tree)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
    }

    @Override
    public void close() throws IOException {
        try {
            reset();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            delete(root);
        }
    }
}
