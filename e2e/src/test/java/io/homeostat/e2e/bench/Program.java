package io.homeostat.e2e.bench;

import io.homeostat.e2e.measure.Waiting;
import io.homeostat.e2e.measure.Workplace;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.LongConsumer;

/** The built program with a state directory of its own, its commands, and its agent. */
final class Program {
    private static final double NANOS_PER_SECOND = 1e9;
    private static final Duration PATIENCE = Duration.ofMinutes(5);
    private static final String STATE = "s";

    private final Path program;
    private final Workplace place;
    private int agents;

    Program(Path distribution, Workplace place) throws IOException {
        this.program = distribution.resolve("bin").resolve("homeostat");
        this.place = place;
        Files.createDirectories(desired());
    }

    Workplace place() {
        return place;
    }

    /** Its start script. */
    String path() {
        return program.toString();
    }

    /** Where the agent reads declarations. */
    Path desired() {
        return place.path("desired.d");
    }

    /** Runs a command that has to succeed and to say something; returns the seconds it took. */
    double seconds(String expected, String... arguments) throws IOException, InterruptedException {
        return seconds(expected, here(arguments));
    }

    /** Runs any command that has to succeed. */
    double seconds(String expected, List<String> line) throws IOException, InterruptedException {
        return seconds(expected, line, pid -> {});
    }

    /** Runs a command of the program, looking at its process all the while. */
    double seconds(String expected, LongConsumer look, String... arguments) throws IOException, InterruptedException {
        return seconds(expected, here(arguments), look);
    }

    private double seconds(String expected, List<String> line, LongConsumer look)
            throws IOException, InterruptedException {
        long start = System.nanoTime();
        Process process = place.start("out", line);
        while (!process.waitFor(20, TimeUnit.MILLISECONDS)) {
            look.accept(process.pid());
            if (System.nanoTime() - start > PATIENCE.toNanos()) {
                process.destroyForcibly().waitFor();
                throw new IOException(line + " takes too long: " + place.text("out"));
            }
        }
        double seconds = (System.nanoTime() - start) / NANOS_PER_SECOND;
        String said = place.text("out");
        if (process.exitValue() != 0 || !said.contains(expected)) {
            throw new IOException(line + " exited with " + process.exitValue() + " and said: " + said);
        }
        return seconds;
    }

    /** Whether a command succeeds. */
    boolean succeeds(String... arguments) throws IOException, InterruptedException {
        return place.start("out", here(arguments)).waitFor() == 0;
    }

    private List<String> here(String... arguments) {
        List<String> line = new ArrayList<>(List.of(program.toString()));
        line.addAll(Arrays.asList(arguments));
        line.addAll(List.of(
                "--state-dir",
                place.path(STATE).toString(),
                "--run-dir",
                place.path("r").toString()));
        return line;
    }

    /**
     * Starts an agent as it is by default, but for its directories and addresses, and does not wait for it.
     *
     * @param sources more lines below {@code sources}
     */
    Agent startAgent(String sources) throws IOException {
        return startAgent(sources, "");
    }

    /**
     * The same.
     *
     * @param settings more lines beside {@code sources}
     */
    Agent startAgent(String sources, String settings) throws IOException {
        Path config = place.write("agent.yaml", """
                sources:
                  files: ["%s"]
                  local: {directories: []}
                %s
                metrics: {listen: "unix:%s"}
                %s
                """.formatted(
                        desired(), sources.indent(2).stripTrailing(), place.path("metrics.sock"), settings));
        agents++;
        String output = "agent." + agents + ".log";
        return new Agent(place, place.start(output, here("run", "--config", config.toString())), output);
    }

    /** Declares something in a file that agents read, at once and whole. */
    void declare(String name, String documents) throws IOException {
        Path whole = place.write("new/" + name, documents);
        Files.move(whole, desired().resolve(name), StandardCopyOption.ATOMIC_MOVE);
    }

    /** Writes what is to be written before something is measured, so that it is not measured. */
    void settleDisk() throws IOException, InterruptedException {
        place.run("sync");
    }

    /** Takes all workloads away, and their state. */
    void reset() throws IOException {
        place.reset(STATE);
        Workplace.delete(place.path("r"));
        Workplace.delete(desired());
        Files.createDirectories(desired());
    }

    /** {@code homeostat run} that runs. */
    static final class Agent {
        private final Workplace place;
        private final Process process;
        private final String output;

        private Agent(Workplace place, Process process, String output) {
            this.place = place;
            this.process = process;
            this.output = output;
        }

        Process process() {
            return process;
        }

        long pid() {
            return process.pid();
        }

        /** Waits until it enforces what is declared and answers commands. */
        Agent awaitReady() throws IOException, InterruptedException {
            Waiting.until("the agent enforces", PATIENCE, () -> {
                if (!process.isAlive()) {
                    throw new IOException("the agent has ended: " + place.text(output));
                }
                return place.text(output).contains("enforcing");
            });
            return this;
        }
    }
}
