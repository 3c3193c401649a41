package io.homeostat.e2e;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The commands that one test has started. */
final class Commands {
    /** In the environment of the program, and so of all that it starts. Not HOMEOSTAT_...: those it keeps to itself. */
    private static final String MARK = "E2E_TEST";

    private final Path root;
    private final Path directory;
    private final List<Command> started = new ArrayList<>();
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
            builder.environment().put(MARK, root.toString());
            builder.environment().putAll(environment);
            Command command = new Command(String.join(" ", line.subList(1, line.size())), builder.start(), out, err);
            started.add(command);
            return command;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Whether one of them was {@code homeostat run}. */
    boolean hadAgent() {
        return started.stream().anyMatch(Command::isAgent);
    }

    /** kill -9 for those that still run. */
    void killAll() {
        started.stream().filter(Command::isRunning).toList().forEach(Command::kill);
    }

    /** The same for all but one. */
    void killAllBut(long pid) {
        started.stream()
                .filter(command -> command.isRunning() && command.pid() != pid)
                .toList()
                .forEach(Command::kill);
    }

    /** What came of them and lives, be it a command or what it has started. */
    List<Processes.Seen> processes() {
        return Processes.of(MARK + "=" + root, root);
    }
}
