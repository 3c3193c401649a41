package io.homeostat.e2e.soak;

import io.homeostat.e2e.measure.Waiting;
import io.homeostat.e2e.measure.Workplace;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** One agent with directories of its own, which go with it. */
final class Daemon implements AutoCloseable {
    private static final int PATIENCE_SECONDS = 120;
    private static final Duration POLL = Duration.ofMillis(200);

    private final Path program;
    private final Path greeter;
    private final Workplace place = new Workplace();
    private final List<Process> clients = new ArrayList<>();
    private Optional<Process> agent = Optional.empty();

    Daemon(Path distribution, Path greeter, String resync) throws IOException {
        this.program = distribution.resolve("bin").resolve("homeostat");
        this.greeter = greeter;
        Files.createDirectory(desired());
        // There is a lot to tell here.
        Path _ = place.write("agent.yaml", """
                resync: %s
                sources:
                  files: ["%s"]
                  local: {directories: []}
                metrics: {listen: "unix:%s"}
                limits: {events: 500}
                """.formatted(resync, desired(), metrics()));
    }

    Path greeter() {
        return greeter;
    }

    Workplace place() {
        return place;
    }

    Path root() {
        return place.root();
    }

    Path desired() {
        return place.path("desired.d");
    }

    Path state() {
        return place.path("s");
    }

    Path run() {
        return place.path("r");
    }

    Path metrics() {
        return place.path("metrics.sock");
    }

    long pid() {
        return agent.orElseThrow().pid();
    }

    void start() throws IOException, InterruptedException {
        agent = Optional.of(
                spawn("agent.log", "run", "--config", place.path("agent.yaml").toString()));
        until("the agent enforces", () -> place.text("agent.log").contains("enforcing"));
    }

    /** Starts a command that ends when the caller ends it. */
    Process follow(String... words) throws IOException {
        Process client = spawn("followed", words);
        clients.add(client);
        return client;
    }

    /** Runs a command, whatever comes of it. */
    int command(String... words) throws IOException, InterruptedException {
        Process process = spawn("said", words);
        if (!process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
            process.destroyForcibly().waitFor();
            throw new IOException(String.join(" ", words) + " takes longer than " + PATIENCE_SECONDS + " s");
        }
        return process.exitValue();
    }

    private Process spawn(String output, String... words) throws IOException {
        List<String> line = new ArrayList<>(List.of(program.toString()));
        line.addAll(List.of(words));
        line.addAll(List.of("--state-dir", state().toString(), "--run-dir", run().toString()));
        return place.start(output, line);
    }

    /** What this started and all that came of it, with their environments. */
    List<Running> running() {
        return place.processes().stream().map(Running::of).toList();
    }

    /** Takes everything away and has the agent end; says what did not go as it must. */
    Optional<String> end(Duration patience) throws IOException, InterruptedException {
        Optional<String> ended = hasEndedByItself();
        if (ended.isPresent()) {
            return ended;
        }
        try {
            until("plan has nothing to do", patience, () -> command("plan", "--detailed-exitcode") == 0);
            withdrawAll();
            command("delete", "process/applied-0", "process/applied-1", "process/applied-2");
            until(
                    "nothing of any workload is left",
                    patience,
                    () -> running().stream().allMatch(process -> process.pid() == pid()));
            terminate();
            return Optional.empty();
        } catch (IOException e) {
            return Optional.of(e.getMessage() + "; plan says: " + place.text("said"));
        }
    }

    private static void until(String what, Waiting.Check check) throws IOException, InterruptedException {
        until(what, Duration.ofSeconds(PATIENCE_SECONDS), check);
    }

    static void until(String what, Duration patience, Waiting.Check check) throws IOException, InterruptedException {
        Waiting.until(what, patience, POLL, check);
    }

    /** What it said, if it has. */
    Optional<String> hasEndedByItself() {
        return agent.orElseThrow().isAlive()
                ? Optional.empty()
                : Optional.of("the agent has ended by itself: " + place.text("agent.log"));
    }

    /** Removes all files that declare something. */
    void withdrawAll() throws IOException {
        try (Stream<Path> files = Files.walk(desired())) {
            for (Path file : files.filter(Files::isRegularFile).toList()) {
                Files.delete(file);
            }
        }
    }

    /** Has the agent end, which has to succeed. */
    void terminate() throws IOException, InterruptedException {
        agent.orElseThrow().destroy();
        until("the agent ends", () -> !agent.orElseThrow().isAlive());
        int exit = agent.orElseThrow().exitValue();
        if (exit != 0) {
            throw new IOException("the agent exited with " + exit + ": " + place.text("agent.log"));
        }
    }

    @Override
    public void close() {
        place.close();
    }
}
