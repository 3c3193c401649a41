package io.homeostat.desired.state.sqlite;

import static org.junit.jupiter.api.Assertions.fail;

import com.google.common.collect.ImmutableList;
import com.google.common.io.MoreFiles;
import com.google.common.io.RecursiveDeleteOption;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Runs a main class of the tests in a process of its own, which can be killed. */
final class ChildJvm implements AutoCloseable {
    private final Process process;
    private final BufferedReader output;
    private final Path directory;
    private final Path errors;
    private final List<String> lines = new ArrayList<>();

    private ChildJvm(Process process, Path directory, Path errors) {
        this.process = process;
        this.directory = directory;
        this.output = process.inputReader();
        this.errors = errors;
    }

    static ChildJvm start(Class<?> main, String... arguments) throws IOException {
        return start(ImmutableList.of(), main, arguments);
    }

    static ChildJvm start(List<String> jvmArguments, Class<?> main, String... arguments) throws IOException {
        Path directory = Files.createTempDirectory("child-jvm");
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "--enable-native-access=ALL-UNNAMED",
                // When it is killed it leaves the native library that it has unpacked.
                "-Dorg.sqlite.tmpdir=" + directory,
                "-cp",
                System.getProperty("java.class.path")));
        command.addAll(jvmArguments);
        command.add(main.getName());
        command.addAll(List.of(arguments));
        Path errors = directory.resolve("errors");
        return new ChildJvm(
                new ProcessBuilder(command).redirectError(errors.toFile()).start(), directory, errors);
    }

    long pid() {
        return process.pid();
    }

    /** Reads until the process has printed this many lines in all. */
    void awaitLines(int count) throws IOException {
        while (lines.size() < count) {
            String line = output.readLine();
            if (line == null) {
                fail("the process ended after " + lines.size() + " lines: " + Files.readString(errors));
            }
            lines.add(line);
        }
    }

    /** All it has printed when it has ended. */
    List<String> awaitEnd() throws IOException, InterruptedException {
        readToTheEnd();
        process.waitFor();
        return lines;
    }

    int exitStatus() {
        return process.exitValue();
    }

    /** Kill -9, and what it had printed by then. */
    List<String> kill() throws IOException, InterruptedException {
        // Process.destroyForcibly would close the pipe, with what is still in it.
        process.toHandle().destroyForcibly();
        process.waitFor();
        readToTheEnd();
        return lines;
    }

    private void readToTheEnd() throws IOException {
        for (String line = output.readLine(); line != null; line = output.readLine()) {
            lines.add(line);
        }
    }

    @Override
    public void close() {
        try {
            process.destroyForcibly();
            if (!process.waitFor(1, TimeUnit.MINUTES)) {
                fail("process " + process.pid() + " can't be killed");
            }
            MoreFiles.deleteRecursively(directory, RecursiveDeleteOption.ALLOW_INSECURE);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            fail(e);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
