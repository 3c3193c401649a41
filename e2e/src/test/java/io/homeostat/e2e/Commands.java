package io.homeostat.e2e;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;

/** The commands that one test has started. */
final class Commands {
    /** In the environment of the program, and so of all that it starts. Not HOMEOSTAT_...: those it keeps to itself. */
    private static final String MARK = "E2E_TEST";

    private final Path root;
    private final Path directory;
    private final List<Command> started = new ArrayList<>();
    private final List<WarmAgent> agents = new ArrayList<>();
    private final Map<String, String> environment = new LinkedHashMap<>();

    /**
     * @param root of the test's directories
     * @param directory in which commands are started
     */
    Commands(Path root, Path directory) {
        this.root = root;
        this.directory = directory;
    }

    /** For the commands from now on. */
    void environment(String name, String value) {
        environment.put(name, value);
    }

    Command start(List<String> line, Path input) {
        try {
            Path out = Files.createTempFile(root, "out", "");
            Path err = Files.createTempFile(root, "err", "");
            ProcessBuilder builder = new ProcessBuilder(line)
                    .directory(directory.toFile())
                    .redirectInput(input.toFile())
                    .redirectOutput(out.toFile())
                    .redirectError(err.toFile());
            builder.environment().putAll(ownVariables());
            Command command = new Command(String.join(" ", line.subList(1, line.size())), builder.start(), out, err);
            started.add(command);
            return command;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private Map<String, String> variables() {
        Map<String, String> variables = new HashMap<>(System.getenv());
        variables.putAll(ownVariables());
        return variables;
    }

    private Map<String, String> ownVariables() {
        Map<String, String> own = new LinkedHashMap<>();
        own.put(MARK, root.toString());
        own.putAll(environment);
        return own;
    }

    /** Starts a command in this JVM that runs until it is told to end. */
    WarmAgent start(WarmProgram program, List<String> arguments) {
        WarmAgent agent = program.start(directory, arguments, variables());
        agents.add(agent);
        return agent;
    }

    /** Whether one of them was {@code homeostat run}. */
    boolean hadAgent() {
        return !agents.isEmpty() || started.stream().anyMatch(Command::isAgent);
    }

    /** Ends those that still run: processes by kill -9, those in this JVM by SIGTERM. */
    void endAll() {
        end(each -> true);
    }

    /** The same for all but an agent. */
    void endAllBut(Agent agent) {
        end(each -> !agent.is(each));
    }

    private void end(Predicate<RunningCommand> unwanted) {
        started.stream().filter(unwanted).filter(Command::isRunning).forEach(Command::kill);
        List<WarmAgent> ending =
                agents.stream().filter(unwanted).filter(WarmAgent::isRunning).toList();
        ending.forEach(WarmAgent::terminate);
        for (WarmAgent agent : ending) {
            Result _ = agent.await(Patience.LONGEST);
        }
    }

    /** Returns what the agents in this JVM have said that have ended. */
    List<Result> agents() {
        return agents.stream()
                .filter(agent -> !agent.isRunning())
                .map(agent -> agent.await(Patience.LONGEST))
                .toList();
    }

    /** What came of them and lives, be it a command or what it has started. */
    List<Processes.Seen> processes() {
        return Processes.of(MARK + "=" + root, root);
    }
}
