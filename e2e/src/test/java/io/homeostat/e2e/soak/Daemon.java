package io.homeostat.e2e.soak;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;

/** One agent with directories of its own, which go with it. */
final class Daemon implements AutoCloseable {
    private static final int PATIENCE_SECONDS = 120;
    private static final int POLL_MILLIS = 200;

    /** In the environment of all that this starts, and of all that comes of it. */
    private static final String MARK = "E2E_SOAK";

    private final Path program;
    private final Path greeter;
    private final Path root;
    private final List<Process> clients = new ArrayList<>();
    private Optional<Process> agent = Optional.empty();

    Daemon(Path distribution, Path greeter) throws IOException {
        this.program = distribution.resolve("bin").resolve("homeostat");
        this.greeter = greeter;
        this.root = Files.createTempDirectory("hss");
        Files.createDirectory(desired());
        // Everybody's pauses are short here, and there is a lot to tell.
        Files.writeString(root.resolve("agent.yaml"), """
                resync: 10s
                sources:
                  files: ["%s"]
                  local: {directories: []}
                metrics: {listen: "unix:%s"}
                limits: {events: 500}
                """.formatted(desired(), metrics()));
    }

    Path greeter() {
        return greeter;
    }

    Path root() {
        return root;
    }

    Path desired() {
        return root.resolve("desired.d");
    }

    Path state() {
        return root.resolve("s");
    }

    Path run() {
        return root.resolve("r");
    }

    Path metrics() {
        return root.resolve("metrics.sock");
    }

    long pid() {
        return agent.orElseThrow().pid();
    }

    void start() throws IOException, InterruptedException {
        agent = Optional.of(
                spawn("agent.log", "run", "--config", root.resolve("agent.yaml").toString()));
        until("the agent enforces", () -> text("agent.log").contains("enforcing what is declared"));
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
        ProcessBuilder builder = new ProcessBuilder(line)
                .redirectInput(Path.of("/dev/null").toFile())
                .redirectErrorStream(true)
                .redirectOutput(root.resolve(output).toFile());
        builder.environment().put(MARK, root.toString());
        return builder.start();
    }

    private String text(String output) {
        try {
            return Files.readString(root.resolve(output), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** What this started and all that came of it, with their environments. */
    List<Running> running() throws IOException {
        List<Running> found = new ArrayList<>();
        try (Stream<Path> entries = Files.list(Path.of("/proc"))) {
            for (Path entry : entries.filter(
                            path -> path.getFileName().toString().matches("[0-9]+"))
                    .toList()) {
                String environment = Running.environment(entry);
                if (environment.contains(MARK + "=" + root + "\n") || Running.writesInto(root, entry)) {
                    found.add(new Running(Long.parseLong(entry.getFileName().toString()), environment));
                }
            }
        }
        return found;
    }

    /** Takes everything away and has the agent end; says what did not go as it must. */
    Optional<String> end(Duration patience) throws IOException, InterruptedException {
        if (!agent.orElseThrow().isAlive()) {
            return Optional.of("the agent has ended by itself: " + text("agent.log"));
        }
        try {
            until("plan has nothing to do", patience, () -> command("plan", "--detailed-exitcode") == 0);
            try (Stream<Path> files = Files.list(desired())) {
                for (Path file : files.toList()) {
                    Files.delete(file);
                }
            }
            command("delete", "process/applied-0", "process/applied-1", "process/applied-2");
            until(
                    "nothing of any workload is left",
                    patience,
                    () -> running().stream().allMatch(process -> process.pid() == pid()));
            agent.orElseThrow().destroy();
            until("the agent ends", patience, () -> !agent.orElseThrow().isAlive());
            int exit = agent.orElseThrow().exitValue();
            return exit == 0
                    ? Optional.empty()
                    : Optional.of("the agent exited with " + exit + ": " + text("agent.log"));
        } catch (IOException e) {
            return Optional.of(e.getMessage() + "; plan says: " + text("said"));
        }
    }

    private interface Check {
        boolean holds() throws IOException, InterruptedException;
    }

    private void until(String what, Check check) throws IOException, InterruptedException {
        until(what, Duration.ofSeconds(PATIENCE_SECONDS), check);
    }

    private static void until(String what, Duration patience, Check check) throws IOException, InterruptedException {
        long end = System.nanoTime() + patience.toNanos();
        while (!check.holds()) {
            if (System.nanoTime() > end) {
                throw new IOException("not within " + patience.toSeconds() + " s: " + what);
            }
            LockSupport.parkNanos(Duration.ofMillis(POLL_MILLIS).toNanos());
        }
    }

    @Override
    public void close() throws IOException {
        clients.forEach(Process::destroyForcibly);
        for (Running process : running()) {
            process.kill();
        }
        Trees.delete(root);
    }
}
