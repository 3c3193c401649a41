package io.homeostat.reconcile.cli;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ObjectArrays;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.StateReader;
import io.homeostat.desired.state.sqlite.StateStores;
import io.homeostat.observe.process.TerminalMode;
import io.homeostat.reconcile.ControlGroups;
import io.homeostat.reconcile.command.environment.Environment;
import io.homeostat.reconcile.command.environment.Environment.Interrupts;
import io.homeostat.reconcile.command.environment.GlobalOptions.OutputFormat;
import io.homeostat.reconcile.command.environment.Terminal;
import io.homeostat.reconcile.command.environment.UserDirectories;
import io.homeostat.reconcile.command.output.Ansi;
import io.homeostat.reconcile.command.output.Console;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Function;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParseResult;

/** Runs commands as a shell would, in this process, on directories of the test's own. */
public final class Shell {
    /** What a command printed, and its exit status. */
    record Result(int status, String out, String err) {}

    /** A terminal that nobody looks at. */
    private record Keyboard(Terminal none) implements Terminal {
        Keyboard() {
            this(Terminal.none());
        }

        @Override
        public boolean isInput() {
            return true;
        }

        @Override
        public Interrupts.Guard raw() {
            return none.raw();
        }

        @Override
        public Optional<TerminalMode.Size> size() {
            return none.size();
        }

        @Override
        public Interrupts.Guard onResize(Runnable changed) {
            return none.onResize(changed);
        }
    }

    private static final int NOBODY = 65534;

    private final Path directory;
    private long uid;
    private ImmutableMap<String, String> variables;
    private String in = "";
    private boolean terminal;
    private boolean keyboard;
    private Clock clock = Clock.tickMillis(ZoneOffset.UTC);
    private Interrupts interrupts = Interrupts.none();
    private final DocumentCounter documents = new DocumentCounter();

    /** A directory for the commands of a test. Not JUnit's: sockets need a short path. */
    static Path shortDirectory() throws IOException {
        return Files.createTempDirectory("hs").toRealPath();
    }

    Shell(Path directory) {
        this.directory = directory;
        this.variables = ImmutableMap.of("HOME", directory.toString());
        try {
            this.uid = ((Number) Files.getAttribute(directory, "unix:uid")).longValue();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * Is typed by an ordinary user, also where root runs the tests: root's configuration has a fixed place. The directory stays root's then, as
     * root's process works in no other.
     */
    Shell asOrdinaryUser() {
        if (uid == 0) {
            uid = NOBODY;
        }
        return this;
    }

    /** Has these variables, and a home directory unless they name another one. */
    Shell with(Map<String, String> environment) {
        variables = ImmutableMap.<String, String>builder()
                .put("HOME", directory.toString())
                .putAll(environment)
                .buildKeepingLast();
        return this;
    }

    Shell typing(String text) {
        in = text;
        return this;
    }

    Shell onTerminal() {
        terminal = true;
        return this;
    }

    /** Whose standard input is a terminal. */
    Shell atKeyboard(String text) {
        keyboard = true;
        return typing(text);
    }

    Shell at(Clock time) {
        clock = time;
        return this;
    }

    Clock clock() {
        return clock;
    }

    /** Whose commands are told of signals so. */
    Shell signalled(Interrupts signals) {
        interrupts = signals;
        return this;
    }

    /** How many documents its own commands have parsed and printed. */
    DocumentCounter documents() {
        return documents;
    }

    ImmutableMap<String, String> variables() {
        return variables;
    }

    long uid() {
        return uid;
    }

    Path state() {
        return directory.resolve("state");
    }

    Layout layout() {
        return new Layout(state(), directory.resolve("run"), UserDirectories.instanceId(Path.of("/etc/machine-id")));
    }

    /** A command on this shell's state and run directory. */
    Result run(String... words) {
        return plain(withDirectories(words));
    }

    String[] withDirectories(String... words) {
        return ObjectArrays.concat(
                words,
                new String[] {
                    "--state-dir",
                    state().toString(),
                    "--run-dir",
                    directory.resolve("run").toString()
                },
                String.class);
    }

    /** A command as it is. */
    Result plain(String... words) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        Result result = into(out, words);
        return new Result(result.status(), out.toString(StandardCharsets.UTF_8), result.err());
    }

    /** {@code fleet} with a configuration of its own. */
    Result fleet(Path config, String... words) {
        return plain(ObjectArrays.concat(new String[] {"fleet", "--config", config.toString()}, words, String.class));
    }

    /** A command whose standard output goes elsewhere. */
    Result into(OutputStream out, String... words) {
        ByteArrayOutputStream err = new ByteArrayOutputStream();
        int status = Homeostat.run(words, environment(out, err));
        return new Result(status, "", err.toString(StandardCharsets.UTF_8));
    }

    private Environment environment(OutputStream out, OutputStream err) {
        return new Environment(
                variables,
                directory,
                uid,
                new ByteArrayInputStream(in.getBytes(StandardCharsets.UTF_8)),
                new PrintStream(out, false, StandardCharsets.UTF_8),
                new PrintStream(err, false, StandardCharsets.UTF_8),
                terminal,
                terminal,
                clock,
                Ticker.systemTicker(),
                documents,
                interrupts,
                keyboard ? new Keyboard() : Terminal.none());
    }

    /**
     * A command that is read and not run.
     *
     * @throws ParameterException when the command line can't be read
     */
    Invocation invocation(String... words) {
        Environment environment = environment(OutputStream.nullOutputStream(), OutputStream.nullOutputStream());
        ParseResult parsed = Usage.parsed(words);
        ParseResult command = parsed.subcommand();
        return new Invocation(
                command.commandSpec().name(),
                environment,
                new Console(environment.out(), environment.err(), OutputFormat.TEXT, new Ansi(false)),
                Usage.arguments(parsed, command));
    }

    Path write(String name, String text) throws IOException {
        return Files.writeString(directory.resolve(name), text);
    }

    /** A local process that sleeps. */
    public static String sleeper(String name, int seconds) {
        return """
                ---
                apiVersion: homeostat.io/v1
                kind: Process
                metadata: {name: %s}
                spec:
                  install: local
                  entryPoint: /bin/sleep
                  arguments: ["%d"]
                  stop: {timeout: 5s}
                """.formatted(name, seconds);
    }

    /** The number of the workload's one process. */
    long pid(WorkloadId id) {
        ImmutableList<Instance> instances = instances();
        return instances.stream()
                .filter(instance -> instance.workload().equals(id))
                .map(instance -> Objects.requireNonNull(instance.process()).pid())
                .findFirst()
                .orElseThrow();
    }

    ImmutableList<Instance> instances() {
        return read(StateReader::instances);
    }

    /** Part of what is stored; nothing before anything is. */
    <T> ImmutableList<T> read(Function<StateReader, ImmutableList<T>> part) {
        return StateStores.openForReading(layout())
                .map(reader -> {
                    try (StateReader open = reader) {
                        return part.apply(open);
                    }
                })
                .orElse(ImmutableList.of());
    }

    /** Leaves no process behind. */
    void close() {
        ImmutableList<String> applied = read(StateReader::declarations).stream()
                .map(document -> document.workload().id().toString())
                .collect(ImmutableList.toImmutableList());
        if (!applied.isEmpty()) {
            List<String> words = new ArrayList<>(List.of("delete"));
            words.addAll(applied);
            Result result = run(words.toArray(String[]::new));
            if (result.status() != 0) {
                throw new IllegalStateException("could not clean up: " + result);
            }
        }
        ControlGroups.removeEmpty(layout());
    }
}
