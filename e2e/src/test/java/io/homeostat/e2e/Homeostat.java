package io.homeostat.e2e;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.fail;

import com.fasterxml.jackson.databind.JsonNode;
import com.google.errorprone.annotations.CanIgnoreReturnValue;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionTimeoutException;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * The built program with a state directory of its own. After each test it removes all workloads and makes sure that no process is
 * left: one that outlives its removal fails the test.
 */
final class Homeostat implements BeforeEachCallback, AfterEachCallback {
    private static final Duration PATIENCE = Duration.ofSeconds(90);

    /** In the environment of the program, and so of all that it starts. Not HOMEOSTAT_...: those it keeps to itself. */
    private static final String MARK = "E2E_TEST";

    private static final Path NOTHING = Path.of("/dev/null");

    private final List<Command> commands = new ArrayList<>();
    private final List<String> secrets = new ArrayList<>();
    private final Map<String, String> environment = new LinkedHashMap<>();
    private Path root = Path.of("/nonexistent");

    @Override
    public void beforeEach(ExtensionContext context) throws IOException {
        context.getRoot().getStore(ExtensionContext.Namespace.GLOBAL).getOrComputeIfAbsent("trained", key -> {
            Distribution.train();
            return true;
        });
        // Not JUnit's: sockets need a short path.
        root = Files.createTempDirectory(Path.of("/tmp"), "hs");
        Files.createDirectory(root.resolve("w"));
        commands.clear();
        secrets.clear();
        environment.clear();
    }

    /** Where the test's own files are, and the program's working directory. */
    Path directory() {
        return root.resolve("w");
    }

    Path stateDir() {
        return root.resolve("s");
    }

    Path runDir() {
        return root.resolve("r");
    }

    /** Where this machine's installations are. */
    Path installs(String kinds) {
        return instance().resolve(kinds);
    }

    Path instance() {
        try (Stream<Path> entries = Files.list(stateDir())) {
            List<Path> found = entries.filter(Files::isDirectory)
                    .filter(entry -> !entry.endsWith("cache"))
                    .toList();
            assertEquals(1, found.size(), () -> "not one instance directory: " + found);
            return found.getFirst();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** From now on no command may say this, and no file but the database may have it. */
    void keepsSecret(String secret) {
        secrets.add(secret);
    }

    /** For the commands from now on. */
    void environment(String name, String value) {
        environment.put(name, value);
    }

    Path file(String name, Document... documents) {
        return file(name, Arrays.stream(documents).map(Document::toString).collect(Collectors.joining("\n---\n")));
    }

    Path file(String name, String text) {
        try {
            Path file = directory().resolve(name);
            Files.createDirectories(file.getParent());
            return Files.writeString(file, text);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Starts a command on this state directory. */
    Command start(String... arguments) {
        return startExactly(here(arguments), NOTHING);
    }

    /** kill -9 for a workload's process; waits until its end is known. */
    @CanIgnoreReturnValue
    long kill(String id) {
        long pid = pid(id);
        Processes.kill(pid);
        String launches = "launches/" + (id.startsWith("plugin/") ? "plugins" : "processes")
                + id.substring(id.indexOf('/')) + "/";
        Awaitility.await()
                .until(() -> !Processes.isAlive(pid)
                        && Processes.with(MARK, root.toString()).stream()
                                .noneMatch(process ->
                                        process.isKeeper() && process.command().contains(launches)));
        return pid;
    }

    private List<String> here(String... arguments) {
        List<String> line = new ArrayList<>(List.of(Distribution.program().toString()));
        line.addAll(List.of(arguments));
        line.addAll(List.of("--state-dir", stateDir().toString(), "--run-dir", runDir().toString()));
        return line;
    }

    /** Starts a command without any option that is not given. */
    private Command startExactly(List<String> line, Path input) {
        try {
            Path out = Files.createTempFile(root, "out", "");
            Path err = Files.createTempFile(root, "err", "");
            ProcessBuilder builder = new ProcessBuilder(line)
                    .directory(directory().toFile())
                    .redirectInput(input.toFile())
                    .redirectOutput(out.toFile())
                    .redirectError(err.toFile());
            builder.environment().put(MARK, root.toString());
            builder.environment().putAll(environment);
            Command command = new Command(String.join(" ", line.subList(1, line.size())), builder.start(), out, err);
            commands.add(command);
            return command;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Runs a command on this state directory. */
    @CanIgnoreReturnValue
    Result run(String... arguments) {
        return checked(start(arguments).await(PATIENCE));
    }

    /** Runs a command without any option that is not given. */
    Result runExactly(String... arguments) {
        List<String> line = new ArrayList<>(List.of(Distribution.program().toString()));
        line.addAll(List.of(arguments));
        return checked(startExactly(line, NOTHING).await(PATIENCE));
    }

    /** Runs a command on this state directory that reads a file as its standard input. */
    Result runWithInput(Path input, String... arguments) {
        return checked(startExactly(here(arguments), input).await(PATIENCE));
    }

    @CanIgnoreReturnValue
    Result checked(Result result) {
        secrets.forEach(result::doesNotSay);
        // A JVM's or a shell's own words are a defect wherever they come from.
        return result.doesNotSay("Exception in thread").doesNotSay("defect of homeostat");
    }

    @CanIgnoreReturnValue
    Result apply(Path file, String... options) {
        String[] line = Stream.concat(Stream.of("apply", "-f", file.toString()), Arrays.stream(options))
                .toArray(String[]::new);
        return run(line);
    }

    @CanIgnoreReturnValue
    Result apply(Document... documents) {
        return apply(file("desired.yaml", documents));
    }

    JsonNode plan(String... options) {
        String[] line = Stream.concat(Stream.of("plan", "-o", "json"), Arrays.stream(options))
                .toArray(String[]::new);
        return run(line).exits(0).json();
    }

    JsonNode statuses() {
        return run("status", "-o", "json").json();
    }

    /** The status of one workload. */
    JsonNode status(String id) {
        JsonNode all = run("status", id, "-o", "json").json();
        JsonNode one = all.at("/workloads/0");
        assertFalse(one.isMissingNode(), () -> "no status of " + id + ": " + all);
        return one;
    }

    /** The state of a workload with what explains it, in one line: {@code RUNNING 1}. */
    String state(String id) {
        JsonNode status = status(id);
        return status.get("state").asText() + " "
                + status.get("currentRevision").asText();
    }

    static String condition(JsonNode status, String type) {
        return StreamSupport.stream(status.get("conditions").spliterator(), false)
                .filter(condition -> condition.get("type").asText().equals(type))
                .map(condition -> condition.get("status").asText())
                .findFirst()
                .orElse("absent");
    }

    long pid(String id) {
        JsonNode status = status(id);
        assertFalse(status.get("pid").isNull(), () -> id + " has no process: " + status);
        long pid = status.get("pid").asLong();
        assertEquals(true, Processes.isAlive(pid), () -> "process " + pid + " is dead: " + status);
        return pid;
    }

    List<JsonNode> events() {
        return run("events", "-o", "json").exits(0).jsonLines();
    }

    /** A workload's events as {@code TYPE revision}, oldest first, without the prefix PLUGIN_. */
    List<String> events(String id) {
        return events().stream()
                .filter(event -> event.get("workload").asText().equals(id))
                .map(event -> event.get("type").asText().replaceFirst("^PLUGIN_", "") + " "
                        + event.get("revision").asText())
                .toList();
    }

    /** The living processes of a workload, with their children, without what waits for them. */
    List<Processes.Seen> processes(String id) {
        return Processes.with(MARK, root.toString()).stream()
                .filter(process -> process.workload().equals(id) && !process.isKeeper())
                .toList();
    }

    @Override
    public void afterEach(ExtensionContext context) throws IOException {
        List<String> wrong = new ArrayList<>();
        commands.stream().filter(Command::isRunning).toList().forEach(Command::kill);
        try {
            removeAll();
            secrets.forEach(secret -> wrong.addAll(filesWith(secret)));
        } catch (RuntimeException | AssertionError e) {
            wrong.add(String.valueOf(e.getMessage()));
        }
        List<Processes.Seen> left = left();
        left.forEach(process -> Processes.kill(process.pid()));
        Trees.delete(root);
        if (!left.isEmpty()) {
            wrong.add("processes are left: " + left);
        }
        // What went wrong in the test itself matters more, and may well be the reason.
        if (!wrong.isEmpty() && context.getExecutionException().isEmpty()) {
            fail("after the test: " + String.join("\n", wrong));
        }
    }

    private void removeAll() {
        if (!Files.exists(stateDir().resolve("homeostat.db"))) {
            return;
        }
        List<String> line = new ArrayList<>(List.of("delete"));
        for (JsonNode workload : statuses().get("workloads")) {
            if (!workload.get("source").isNull()) {
                line.add(workload.get("kind").asText().toLowerCase(Locale.ROOT) + "/"
                        + workload.get("name").asText());
            }
        }
        if (line.size() > 1) {
            run(line.toArray(String[]::new)).exits(0);
        }
    }

    /** What the program started and what still lives, after a moment for what is about to end. */
    private List<Processes.Seen> left() {
        try {
            Awaitility.await()
                    .atMost(Duration.ofSeconds(5))
                    .pollInterval(Duration.ofMillis(50))
                    .until(() -> Processes.with(MARK, root.toString()).isEmpty());
            return List.of();
        } catch (ConditionTimeoutException e) {
            return Processes.with(MARK, root.toString());
        }
    }

    private List<String> filesWith(String secret) {
        return Trees.contents(root).entrySet().stream()
                .filter(file ->
                        !file.getKey().startsWith("w/") && !file.getKey().startsWith("s/homeostat.db"))
                .filter(file -> file.getValue().contains(secret))
                .map(file -> "a secret is in " + file.getKey())
                .toList();
    }
}
