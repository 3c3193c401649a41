package io.homeostat.e2e;

import static io.homeostat.e2e.Patience.eventually;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import com.google.errorprone.annotations.CanIgnoreReturnValue;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.function.LongConsumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * The built program with a state directory of its own. After each test it removes all workloads and makes sure that no process is
 * left: one that outlives its removal fails the test.
 */
final class Homeostat implements BeforeEachCallback, AfterEachCallback {
    private static final Path NOTHING = Path.of("/dev/null");

    private final List<String> secrets = new ArrayList<>();
    private Path root = Path.of("/nonexistent");
    private Commands commands = new Commands(root, root);
    private @Nullable WarmProgram warm;
    private @Nullable Agent agent;

    @Override
    public void beforeEach(ExtensionContext context) throws IOException {
        warm = context.getRoot()
                .getStore(ExtensionContext.Namespace.GLOBAL)
                .getOrComputeIfAbsent(
                        WarmProgram.class,
                        key -> {
                            Distribution.train();
                            return new WarmProgram(Distribution.home());
                        },
                        WarmProgram.class);
        // Not JUnit's: sockets need a short path.
        root = Files.createTempDirectory("hs");
        Files.createDirectories(desired());
        commands = new Commands(root, directory());
        agent = null;
        secrets.clear();
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

    /** The directories of tasks. The name of each is that of its task, and that of its parent its allocation. */
    List<Path> allocations() {
        return children(stateDir())
                .flatMap(machine -> children(machine.resolve("allocations")))
                .flatMap(Homeostat::children)
                .filter(path -> Files.isDirectory(path) && !path.endsWith("alloc"))
                .toList();
    }

    /** Of what is being removed meanwhile nothing. */
    private static Stream<Path> children(Path directory) {
        String[] names = directory.toFile().list();
        return names == null ? Stream.of() : Arrays.stream(names).map(directory::resolve);
    }

    /** The directory of one task. */
    Path allocation(String task) {
        return allocations().stream()
                .filter(directory -> directory.endsWith(task))
                .findFirst()
                .orElseGet(() -> fail("there is no directory of a task " + task));
    }

    /** From now on no command may say this, and no file but the database may have it. */
    void keepsSecret(String secret) {
        secrets.add(secret);
    }

    /** For the commands from now on. */
    void environment(String name, String value) {
        commands.environment(name, value);
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

    Command start(String... arguments) {
        return commands.start(here(arguments), NOTHING);
    }

    /** The same with a copy of the program. */
    Command start(Path distribution, String... arguments) {
        return commands.start(here(distribution.resolve("bin/homeostat"), arguments), NOTHING);
    }

    /** A script for sh(1), in which {@code $HS} is the program with this state directory. */
    Command shell(String script) {
        environment("HS", Distribution.program() + " --state-dir " + stateDir() + " --run-dir " + runDir());
        return commands.start(List.of("/bin/sh", "-c", script), NOTHING);
    }

    /** kill -9 for a workload's process; waits until its end is known. */
    @CanIgnoreReturnValue
    long kill(String id) {
        return end(id, Processes::kill);
    }

    /** Does to a workload's process what ends it; waits until its end is known. */
    @CanIgnoreReturnValue
    long end(String id, LongConsumer how) {
        long pid = pid(id);
        long keeper = Processes.parent(pid);
        how.accept(pid);
        eventually().until(() -> !Processes.isAlive(pid) && !Processes.isAlive(keeper));
        return pid;
    }

    /** Waits until an agent has brought a workload to where it is wanted. */
    void awaitRunning(String id) {
        eventually().until(() -> lookAt(id).exit() == 0);
    }

    /** Waits until a workload has one process and it is another one. */
    void awaitAnother(String id, long dead) {
        eventually()
                .until(
                        () -> processes(id),
                        alive -> alive.size() == 1 && alive.getFirst().pid() != dead);
    }

    /** Where agents of this test read declarations. */
    Path desired() {
        return directory().resolve("desired.d");
    }

    /** Declares this in a file that agents read, at once and whole; nothing to withdraw what it declared. */
    @CanIgnoreReturnValue
    Path declare(String name, Document... documents) {
        Path whole = file(".new", documents);
        try {
            return Files.move(whole, desired().resolve(name), StandardCopyOption.REPLACE_EXISTING);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Starts an agent in this JVM with the directory {@link #desired} and without hope of a resync, and waits until it enforces. */
    Agent agent() {
        return agent(AgentConfig.of(desired()));
    }

    /** The same with another configuration. */
    Agent agent(AgentConfig config) {
        return startAgent(config).awaitReady();
    }

    /** The same without waiting. */
    Agent startAgent(AgentConfig config) {
        List<String> line = withDirectories("run", "--config", configuration(config));
        agent = new Agent(commands.start(warm(), line), this::checked);
        return agent;
    }

    /** Starts an agent as a process of its own, and waits until it enforces. */
    AgentProcess agentProcess() {
        return agentProcess(AgentConfig.of(desired()));
    }

    /** The same with another configuration. */
    AgentProcess agentProcess(AgentConfig config) {
        return startAgentProcess(config).awaitReady();
    }

    /** The same without waiting. */
    AgentProcess startAgentProcess(AgentConfig config) {
        return startAgent(Distribution.home(), config);
    }

    /** Starts an agent that can be stopped at a point, and waits until it enforces; those that follow can't be stopped. */
    AgentProcess agent(KillPoint kill) {
        environment("JAVA_TOOL_OPTIONS", kill.option());
        AgentProcess stopped = agentProcess();
        environment("JAVA_TOOL_OPTIONS", "-Dnot=debugged");
        return stopped;
    }

    /** Starts an agent of a copy of the program, and waits until it enforces. */
    AgentProcess agent(Path distribution) {
        return startAgent(distribution).awaitReady();
    }

    /** The same without waiting. */
    AgentProcess startAgent(Path distribution) {
        return startAgent(distribution, AgentConfig.of(desired()));
    }

    private AgentProcess startAgent(Path distribution, AgentConfig config) {
        List<String> line = here(distribution.resolve("bin/homeostat"), "run", "--config", configuration(config));
        AgentProcess started = new AgentProcess(commands.start(line, NOTHING), this::checked);
        agent = started;
        return started;
    }

    private String configuration(AgentConfig config) {
        return file("agent.yaml", config.toString()).toString();
    }

    /**
     * How many launches of a workload there are notes of.
     *
     * @param path such as {@code sandboxes/guest}
     */
    long launches(String path) throws IOException {
        try (Stream<Path> launches = Files.list(instance().resolve("launches").resolve(path))) {
            return launches.count();
        }
    }

    /** Removes a file that agents read. */
    void withdraw(String name) {
        assertTrue(desired().resolve(name).toFile().delete(), name);
    }

    private List<String> here(String... arguments) {
        return here(Distribution.program(), arguments);
    }

    private List<String> here(Path program, String... arguments) {
        List<String> line = new ArrayList<>(List.of(program.toString()));
        line.addAll(withDirectories(arguments));
        return line;
    }

    private List<String> withDirectories(String... arguments) {
        List<String> line = new ArrayList<>(List.of(arguments));
        line.addAll(List.of("--state-dir", stateDir().toString(), "--run-dir", runDir().toString()));
        return line;
    }

    /**
     * Runs a command on this state directory, in this JVM: what it does, prints and answers is the same, but what it logs goes to
     * the log of the tests. It costs a tenth of a process. What a test says of the process itself is asked of {@link #runProcess}.
     */
    @CanIgnoreReturnValue
    Result run(String... arguments) {
        return inThisJvm(withDirectories(arguments));
    }

    /** Runs a command without any option that is not given, in this JVM. */
    Result runExactly(String... arguments) {
        return inThisJvm(List.of(arguments));
    }

    /** Runs a command in a workload. */
    Result exec(String workload, String... command) {
        List<String> line = withDirectories("exec", workload);
        line.add("--");
        line.addAll(List.of(command));
        return inThisJvm(line);
    }

    private Result inThisJvm(List<String> arguments) {
        return checked(warm().run(directory(), arguments));
    }

    private WarmProgram warm() {
        return Objects.requireNonNull(warm, "there is one while tests run");
    }

    /** Runs a command on this state directory, as a process of its own. */
    @CanIgnoreReturnValue
    Result runProcess(String... arguments) {
        return checked(start(arguments).await(Patience.LONGEST));
    }

    /** Runs a command without any option that is not given, as a process of its own. */
    Result runProcessExactly(String... arguments) {
        List<String> line = new ArrayList<>(List.of(Distribution.program().toString()));
        line.addAll(List.of(arguments));
        return checked(commands.start(line, NOTHING).await(Patience.LONGEST));
    }

    /** The same for a process that reads a file as its standard input. */
    Result runProcessWithInput(Path input, String... arguments) {
        return checked(commands.start(here(arguments), input).await(Patience.LONGEST));
    }

    @CanIgnoreReturnValue
    Result checked(Result result) {
        secrets.forEach(result::doesNotSay);
        // A JVM's or a shell's own words are a defect wherever they come from.
        return result.doesNotSay("Exception in thread").doesNotSay("defect of homeostat");
    }

    @CanIgnoreReturnValue
    Result apply(Path file, String... options) {
        return run(words(options, "apply", "-f", file.toString()));
    }

    @CanIgnoreReturnValue
    Result apply(Document... documents) {
        return apply(file("desired.yaml", documents));
    }

    /** Brings the machine to where a test begins, or goes on. */
    @CanIgnoreReturnValue
    Result applied(Document... documents) {
        return applied(file("desired.yaml", documents));
    }

    @CanIgnoreReturnValue
    Result applied(Path file) {
        return apply(file).exits(0);
    }

    JsonNode plan(String... options) {
        return run(words(options, "plan", "-o", "json")).exits(0).json();
    }

    /** What is planned for a workload and why: {@code restart PROCESS_EXITED}, or {@code nothing}. */
    String planned(String id) {
        JsonNode change = change(id);
        return change.isMissingNode()
                ? "nothing"
                : change.get("action").asText() + " " + change.get("reason").asText();
    }

    /** What {@code plan} tells of a workload; missing where it is as declared. */
    JsonNode change(String id, String... options) {
        JsonNode plan = plan(options);
        return Stream.of(plan.get("changes"), plan.get("drift"))
                .flatMap(Shapes::stream)
                .filter(change -> change.get("workload").asText().equals(id))
                .findFirst()
                .orElse(MissingNode.getInstance());
    }

    private static String[] words(String[] last, String... first) {
        return Stream.concat(Arrays.stream(first), Arrays.stream(last)).toArray(String[]::new);
    }

    /** What {@code status} says now. */
    JsonNode statuses() {
        return lookAt().json();
    }

    private Result lookAt(String... ids) {
        return run(words(new String[] {"-o", "json"}, words(ids, "status")));
    }

    /** The status of one workload. */
    JsonNode status(String id) {
        JsonNode all = lookAt(id).json();
        JsonNode one = all.at("/workloads/0");
        assertFalse(one.isMissingNode(), () -> "no status of " + id + ": " + all);
        return one;
    }

    /** The state of a workload with its revision: {@code RUNNING 1}. */
    String state(String id) {
        JsonNode status = status(id);
        return status.get("state").asText() + " "
                + status.at("/currentRevision").asText();
    }

    static String condition(JsonNode status, String type) {
        return Shapes.stream(status.get("conditions"))
                .filter(condition -> condition.get("type").asText().equals(type))
                .map(condition -> condition.get("status").asText())
                .findFirst()
                .orElse("absent");
    }

    long pid(String id) {
        JsonNode status = status(id);
        assertFalse(status.get("pid").isNull(), () -> id + " has no process: " + status);
        long pid = status.get("pid").asLong();
        assertTrue(Processes.isAlive(pid), () -> "process " + pid + " is dead: " + status);
        return pid;
    }

    /** The one process of a workload, found by its mark: a command that is asked for it is the start of a JVM. */
    long process(String id) {
        List<Processes.Seen> alive = processes(id);
        assertEquals(1, alive.size(), () -> id + " has not one process: " + alive);
        return alive.getFirst().pid();
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

    /** All that this test started and that lives: commands, workloads, and what waits for them. */
    List<Processes.Seen> everyProcess() {
        return commands.processes();
    }

    /** The living processes of a workload, with their children, without what waits for them. */
    List<Processes.Seen> processes(String id) {
        return commands.processes().stream()
                .filter(process -> process.workload().equals(id) && !process.isKeeper())
                .toList();
    }

    @Override
    public void afterEach(ExtensionContext context) throws IOException {
        List<String> wrong = new ArrayList<>();
        Aftermath aftermath = new Aftermath(this, commands, agent, root);
        try {
            aftermath.removeAll();
            secrets.forEach(secret -> wrong.addAll(aftermath.filesWith(secret)));
            if (warm != null && secrets.stream().anyMatch(warm::hasLogged)) {
                wrong.add("a command has logged a secret");
            }
        } catch (RuntimeException | AssertionError e) {
            wrong.add(String.valueOf(e.getMessage()));
        }
        try {
            commands.endAll();
            commands.agents().forEach(this::checked);
        } catch (AssertionError e) {
            wrong.add(String.valueOf(e.getMessage()));
        }
        List<Processes.Seen> left = aftermath.processes();
        left.forEach(process -> Processes.kill(process.pid()));
        List<String> open = aftermath.openFiles();
        ControlGroups.removeEmpty(stateDir());
        List<String> mounted = aftermath.unmountAll();
        Trees.delete(root);
        if (!mounted.isEmpty()) {
            wrong.add("something is mounted at " + mounted);
        }
        if (!left.isEmpty()) {
            wrong.add("processes are left: " + left);
        }
        if (!open.isEmpty()) {
            wrong.add("files are open: " + open);
        }
        // What went wrong in the test itself matters more, and may well be the reason.
        if (!wrong.isEmpty() && context.getExecutionException().isEmpty()) {
            fail("after the test: " + String.join("\n", wrong));
        }
    }
}
